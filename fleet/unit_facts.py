"""What `headrace up` reports over HTTP: what its jobs know, and what is declared of the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.line_unit import LineUnit
from fleet.replays import replay_rows
from fleet.standings import parts_of
from headrace.application.source_rows import source_rows
from headrace.config.app.file import App
from headrace.config.lake_table.file import LakeTable
from headrace.config.stream.file import Stream
from headrace.contract import QUARANTINE
from headrace.http.board import CachedAnswer, Facts
from headrace.http.rows import AppRow, NotReady, OutputRow, StreamRow, TableRow
from lake_writer.facts import TableFacts
from router.run.facts import StreamFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fleet.follow import Wanted
    from fleet.process_unit import ProcessUnit
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.rows import ReplayRow, State
    from headrace.metrics.text import Sample


class FleetFacts(Facts):
    """All that `headrace up` is to run. Each answer looks at its units again."""

    def __init__(
        self,
        workspace: Workspace,
        units: Callable[[], Sequence[tuple[Wanted, LineUnit | ProcessUnit | None]]],
    ) -> None:
        self._units = units
        self._replays = CachedAnswer("replays", lambda: replay_rows(workspace))

    def jobs(self) -> Iterator[tuple[str, str]]:
        """Return all files."""
        for one in self._all():
            yield from one.jobs()

    def not_ready(self) -> Iterator[NotReady]:
        """Return the files that do not run."""
        for one in self._all():
            yield from one.not_ready()

    def samples(self) -> Iterator[Sample]:
        """Return the metrics of the jobs of the line."""
        for one in self._all():
            yield from one.samples()

    def streams(self) -> Sequence[StreamRow]:
        """Return all streams."""
        return [row for one in self._all() for row in one.streams()]

    def tables(self) -> Sequence[TableRow]:
        """Return all lake tables."""
        return [row for one in self._all() for row in one.tables()]

    def apps(self) -> Sequence[AppRow]:
        """Return all applications that run."""
        return [row for one in self._all() for row in one.apps()]

    def replays(self) -> Sequence[ReplayRow]:
        """Return the replays of this host, whoever runs them."""
        return self._replays.value() or ()

    def _all(self) -> Iterator[Facts]:
        for wanted, unit in self._units():
            yield facts_of(wanted, unit)


def facts_of(wanted: Wanted, unit: LineUnit | ProcessUnit | None) -> Facts:
    """Return what is known of a file's unit."""
    config = wanted.config
    if isinstance(unit, LineUnit) and unit.is_open:
        if isinstance(config, LakeTable):
            return TableFacts(config.name, config.table.identifier, unit.standings)
        return StreamFacts(config.name, unit.standings)
    problem = next((one.problem for one in unit.problems), None) if unit is not None else None
    runs = unit is not None and not isinstance(unit, LineUnit) and unit.is_at_work
    return Declared(config, problem, runs=runs)


class Declared(Facts):
    """A file without jobs in this process. Of a separate process, only whether it runs is known."""

    def __init__(
        self, config: Stream | LakeTable | App, problem: str | None, *, runs: bool
    ) -> None:
        self._config = config
        self._problem = problem
        self._state: State = "failed" if problem else "running" if runs else "starting"

    def jobs(self) -> Sequence[tuple[str, str]]:
        """Return the file."""
        return [(self._config.kind, self._config.name)]

    def not_ready(self) -> Iterator[NotReady]:
        """Return the file, as a whole."""
        if self._state != "running":
            why = self._problem or "it has not begun yet"
            yield NotReady(self._config.kind, self._config.name, None, why)

    def streams(self) -> Sequence[StreamRow]:
        """Return the stream, with the outputs that its file has."""
        config = self._config
        if not isinstance(config, Stream):
            return ()
        outputs = [
            OutputRow(name, self._state, self._problem)
            for name in parts_of(config)
            if name != QUARANTINE
        ]
        return [StreamRow(config.name, self._state, self._problem, outputs)]

    def tables(self) -> Sequence[TableRow]:
        """Return the lake table."""
        config = self._config
        if not isinstance(config, LakeTable):
            return ()
        return [TableRow(config.name, config.table.identifier, self._state, self._problem)]

    def apps(self) -> Sequence[AppRow]:
        """Return the application."""
        config = self._config
        if not isinstance(config, App):
            return ()
        return [AppRow(config.name, self._state, self._problem, source_rows(config, {}))]
