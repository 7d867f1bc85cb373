"""What `headrace up` reports over HTTP: what its jobs know, and what is declared of the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleet.details import declared_row, explained, setting_rows
from fleet.line_unit import LineUnit
from fleet.page_details import PageDetails, link_rows
from fleet.quarantines import Quarantines
from fleet.replays import Replays
from fleet.standings import parts_of
from fleet.stream_origin import StreamOrigin
from headrace.application.source_rows import source_rows
from headrace.config.app.file import App
from headrace.config.lake_table.file import LakeTable
from headrace.config.load import LoadedStream
from headrace.config.stream.effective import effective
from headrace.config.stream.file import Stream
from headrace.contract import QUARANTINE
from headrace.errors import HeadraceError
from headrace.http.board import CachedAnswer, Facts
from headrace.http.detail_rows import DeclaredRow
from headrace.http.rows import AppRow, NotReady, OutputRow, StreamRow, TableRow
from headrace.problems import shown_path
from lake_writer.facts import TableFacts
from router.run.facts import StreamFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fleet.follow import Key, Wanted
    from fleet.process_unit import ProcessUnit
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.app_rows import AppDetail
    from headrace.http.detail_rows import LedgerHistory, LedgerRow, LinkRow, SettingRow
    from headrace.http.quarantine_rows import (
        EditableStream,
        QuarantineReplay,
        QuarantineRow,
        QuarantineTrial,
    )
    from headrace.http.replay_rows import ReplayDetail
    from headrace.http.rows import ReplayRow, State
    from headrace.http.table_rows import TableDetail
    from headrace.metrics.text import Sample
    from headrace.problems import Problem


class FleetFacts(Facts):
    """All that `headrace up` is to run. Each answer looks at its units again."""

    def __init__(
        self,
        workspace: Workspace,
        units: Callable[[], Sequence[tuple[Wanted, LineUnit | ProcessUnit | None]]],
        problems: Callable[[], Iterable[Problem]],
        region: str | None = None,
        spark_ui: str | None = None,
    ) -> None:
        self._spark_ui = spark_ui
        self._details = PageDetails()
        self._workspace = workspace
        self._region = region
        self._units = units
        self._problems = problems
        # What follows from a file as it is now: it is asked for again and again.
        self._declared: dict[Key, tuple[Wanted, DeclaredRow]] = {}
        self._settings: dict[str, tuple[Wanted, Sequence[SettingRow]]] = {}
        self.quarantines = Quarantines(self._origin)
        self._of_host = Replays(workspace)
        self._replays = CachedAnswer("replays", self._of_host.rows)

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

    def replay(self, run_id: str) -> ReplayRow | None:
        """Return one replay, with what its plan says of its frontier."""
        return self._of_host.row(run_id)

    def replay_detail(self, run_id: str) -> ReplayDetail | None:
        """Return what was asked and planned of a replay, and what its result is."""
        return self._of_host.detail(run_id)

    def declared(self) -> Sequence[DeclaredRow]:
        """Return the files that are run, in their last good form, and those that are broken."""
        broken = {one.path: one for one in sorted(self._problems(), reverse=True)}
        found = [
            replace(self._row(one), problem=shown(broken.pop(one.path, None)))
            if one.path in broken
            else self._row(one)
            for one, _ in self._units()
        ]
        for path, problem in broken.items():
            name = shown_path(path)
            found.append(DeclaredRow("file", name, name, problem=str(problem)))
        return found

    def table(self, name: str) -> TableDetail | None:
        """Return what the files and snapshots of a lake table tell."""
        wanted = self._wanted("lake_table", name)
        if wanted is None or not isinstance(wanted.config, LakeTable):
            return None
        apps = [one.config for one, _ in self._units() if isinstance(one.config, App)]
        return self._details.table(wanted.workspace, wanted.config, apps)

    def app(self, name: str) -> AppDetail | None:
        """Return what an application, which runs in a process of its own, keeps of its batches."""
        wanted = self._wanted("app", name)
        if wanted is None or not isinstance(wanted.config, App):
            return None
        return self._details.app(wanted.workspace, wanted.config)

    def history(self, stream: str) -> Sequence[LedgerHistory] | None:
        """Return the last batches in a stream's ledgers."""
        found = self._stream(stream)
        return None if found is None else self._details.history(found[1], found[0])

    def links(self, kind: str, name: str) -> Sequence[LinkRow]:
        """Return where other tools show something, and the Spark UI of this process if it is on."""
        wanted = self._wanted(kind, name)
        if wanted is None:
            return ()
        # An application has a process, and a Spark UI, of its own.
        spark_ui = None if kind == "app" else self._spark_ui
        return link_rows(self._workspace.links, self._row(wanted), spark_ui)

    def _wanted(self, kind: str, name: str) -> Wanted | None:
        return next((one for one, _ in self._units() if one.key == (kind, name)), None)

    def ledger(self, stream: str) -> Sequence[LedgerRow] | None:
        """Return the ledgers of a stream as its jobs have them."""
        for wanted, unit in self._units():
            if wanted.key == ("stream", stream):
                return facts_of(wanted, unit).ledger(stream)
        return None

    def settings(self, stream: str) -> Sequence[SettingRow] | None:
        """Return what a stream runs with."""
        wanted = next((one for one, _ in self._units() if one.key == ("stream", stream)), None)
        known = self._settings.get(stream)
        if wanted is None or (known is not None and known[0] is wanted):
            return None if known is None else known[1]
        found = self._stream(stream)
        if found is None:
            return None
        self._settings[stream] = wanted, setting_rows(*found)
        return self._settings[stream][1]

    def quarantine(self, stream: str) -> QuarantineRow | None:
        """Return a stream's rejected records, read from Kafka now."""
        return self.quarantines.row(stream)

    def quarantine_files(self, stream: str) -> EditableStream | None:
        """Return the files that say what becomes of a stream's records."""
        return self.quarantines.files(stream)

    def quarantine_replay(self, stream: str) -> QuarantineReplay | None:
        """Return the last replay of a stream's rejected records."""
        return self.quarantines.last_replay(stream)

    def try_quarantine(self, stream: str, texts: Mapping[str, str]) -> QuarantineTrial | None:
        """Return what a stream would make of its rejected records with some files changed."""
        return self.quarantines.trial(stream, texts)

    def explain(self, stream: str, records: str) -> Mapping[str, Any] | None:
        """Return what a stream makes of records, by the form that runs."""
        found = self._stream(stream)
        return None if found is None else explained(*found, records)

    def _row(self, wanted: Wanted) -> DeclaredRow:
        known = self._declared.get(wanted.key)
        if known is None or known[0] is not wanted:
            known = self._declared[wanted.key] = wanted, declared_row(wanted.config, wanted.path)
        return known[1]

    def _stream(self, name: str) -> tuple[Effective, Workspace] | None:
        found = self._origin(name)
        return None if found is None else (found.stream, found.workspace)

    def _origin(self, name: str) -> StreamOrigin | None:
        for one, _ in self._units():
            if one.key == ("stream", name) and isinstance(one.loaded, LoadedStream):
                try:
                    stream = effective(one.loaded, one.workspace, self._region)
                except HeadraceError:
                    # The page says why of the stream itself.
                    return None
                return StreamOrigin(stream, one.workspace, one.path, one.topic, self._region)
        return None

    def _all(self) -> Iterator[Facts]:
        for wanted, unit in self._units():
            yield facts_of(wanted, unit)


def shown(problem: Problem | None) -> str | None:
    """Return a mistake of a file whose last good form goes on."""
    return None if problem is None else f"{problem}; its last good form goes on"


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
