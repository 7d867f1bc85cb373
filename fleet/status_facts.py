"""What `headrace ui` reports: the state in Kafka, in the tables and on this host, whoever runs it."""

from __future__ import annotations

import time
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from fleet.details import declared_in, effective_of, explained, setting_rows
from fleet.page_details import PageDetails, link_rows
from fleet.quarantines import Quarantines
from fleet.replays import Replays
from fleet.status import overall
from fleet.stream_origin import StreamOrigin
from headrace.config.app.file import App
from headrace.config.lake_table.file import LakeTable
from headrace.config.stream.file import Stream
from headrace.contract import QUARANTINE
from headrace.errors import HeadraceError
from headrace.http.board import CachedAnswer, Facts
from headrace.http.rows import (
    AppRow,
    NotReady,
    OutputRow,
    StreamRow,
    TableRow,
    state_of_all,
)
from headrace.metrics.definitions import (
    LAG_RECORDS,
    LAG_SECONDS,
    LEDGER_GAP,
    SINCE_LAST_COMMIT,
    TABLE_COMPLETE_UP_TO,
)
from headrace.metrics.text import Sample
from headrace.times import SECOND_US, parse_time_us
from router.run.facts import counted
from router.run.ledger_rows import ledger_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fleet.lines import StatusLine
    from fleet.status import Overall
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.app_rows import AppDetail
    from headrace.http.detail_rows import (
        DeclaredRow,
        LedgerHistory,
        LedgerRow,
        LinkRow,
        SettingRow,
    )
    from headrace.http.quarantine_rows import (
        EditableStream,
        QuarantineReplay,
        QuarantineRow,
        QuarantineTrial,
    )
    from headrace.http.replay_rows import ReplayDetail
    from headrace.http.rows import ReplayRow
    from headrace.http.table_rows import TableDetail

C = TypeVar("C", LakeTable, App)


class StatusFacts(Facts):
    """The lines of `headrace status`. They are computed again while somebody asks for them."""

    runs = False

    def __init__(self, workspace: Workspace, region: str | None) -> None:
        self._workspace = workspace
        self._region = region
        self.quarantines = Quarantines(self._origin)
        self._overall = CachedAnswer("status", lambda: overall(workspace, region))
        # What follows from the files of one look.
        self._declared: tuple[Overall | None, Sequence[DeclaredRow]] = (None, ())
        self._of_host = Replays(workspace)
        self._replays = CachedAnswer("replays", self._of_host.rows)
        self._details = PageDetails()

    def jobs(self) -> Iterator[tuple[str, str]]:
        """Return all streams, lake tables and applications."""
        found = self._of("stream", "lake_table", "app")
        yield from dict.fromkeys((one.kind, one.name) for one in found)

    def resting(self) -> Iterator[NotReady]:
        """Return what does not run. `headrace ui` is ready even so."""
        if self._overall.value() is None:
            why = "the clusters and the catalogs have not answered yet"
            yield NotReady("command", "headrace ui", None, why, "wait some seconds")
        for one in self._of("stream", "lake_table", "app"):
            if one.state != "running":
                why = one.problem or f"it is {one.state}"
                yield NotReady(one.kind, one.name, one.part, why, one.facts.advice)

    def streams(self) -> Sequence[StreamRow]:
        """Return all streams."""
        found = []
        for name, parts in groupby(self._of("stream"), lambda one: one.name):
            lines = list(parts)
            problem = next((one.problem for one in lines if one.problem is not None), None)
            outputs = [_output(one) for one in lines if one.part not in {None, QUARANTINE}]
            found.append(
                StreamRow(name, state_of_all([one.state for one in lines]), problem, outputs)
            )
        return found

    def tables(self) -> Sequence[TableRow]:
        """Return all lake tables."""
        return [
            TableRow(
                one.name,
                one.facts.table or "",
                one.state,
                one.problem,
                one.lag,
                one.facts.rows,
                one.complete_up_to,
                one.last_batch,
                one.facts.files,
            )
            for one in self._of("lake_table")
        ]

    def apps(self) -> Sequence[AppRow]:
        """Return all applications."""
        return [
            AppRow(one.name, one.state, one.problem, one.facts.sources) for one in self._of("app")
        ]

    def replays(self) -> Sequence[ReplayRow]:
        """Return the replays of this host."""
        return self._replays.value() or ()

    def replay(self, run_id: str) -> ReplayRow | None:
        """Return one replay, with what its plan says of its frontier."""
        return self._of_host.row(run_id)

    def replay_detail(self, run_id: str) -> ReplayDetail | None:
        """Return what was asked and planned of a replay, and what its result is."""
        return self._of_host.detail(run_id)

    def declared(self) -> Sequence[DeclaredRow]:
        """Return all files, each topic's own among them."""
        found = self._overall.value()
        if found is not None and found is not self._declared[0]:
            self._declared = found, [declared_in(one) for one in found.files]
        return self._declared[1]

    def table(self, name: str) -> TableDetail | None:
        """Return what the files and snapshots of a lake table tell."""
        config = next((one for one in self._configs(LakeTable) if one.name == name), None)
        if config is None:
            return None
        return self._details.table(self._workspace, config, self._configs(App))

    def app(self, name: str) -> AppDetail | None:
        """Return what an application keeps of its batches on this host."""
        config = next((one for one in self._configs(App) if one.name == name), None)
        return None if config is None else self._details.app(self._workspace, config)

    def history(self, stream: str) -> Sequence[LedgerHistory] | None:
        """Return the last batches in a stream's ledgers."""
        found = self._stream(stream)
        return None if found is None else self._details.history(self._workspace, found)

    def links(self, kind: str, name: str) -> Sequence[LinkRow]:
        """Return where other tools show something."""
        rows = (one for one in self.declared() if (one.kind, one.name) == (kind, name))
        return [link for one in rows for link in link_rows(self._workspace.links, one)]

    def _configs(self, kind: type[C]) -> list[C]:
        whole = self._overall.value()
        files = () if whole is None else whole.files
        return [one.config for one in files if isinstance(one.config, kind)]

    def ledger(self, stream: str) -> Sequence[LedgerRow] | None:
        """Return the ledgers of a stream as they are in Kafka."""
        lines = [one for one in self._of("stream") if one.name == stream and one.part is not None]
        return [
            ledger_row(one.part or "", one.facts.places, one.facts.ends) for one in lines
        ] or None

    def settings(self, stream: str) -> Sequence[SettingRow] | None:
        """Return what a stream runs with."""
        found = self._stream(stream)
        return None if found is None else setting_rows(found, self._workspace)

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
        """Return what a stream makes of records, as its file is now."""
        found = self._stream(stream)
        return None if found is None else explained(found, self._workspace, records)

    def _stream(self, name: str) -> Effective | None:
        found = self._origin(name)
        return None if found is None else found.stream

    def _origin(self, name: str) -> StreamOrigin | None:
        whole = self._overall.value()
        for one in () if whole is None else whole.files:
            if isinstance(one.config, Stream) and one.config.name == name:
                try:
                    stream = effective_of(one, self._workspace, self._region)
                except HeadraceError:
                    # The page says why of the stream itself.
                    return None
                path = one.document.path
                return StreamOrigin(stream, self._workspace, path, one.topic, self._region)
        return None

    def samples(self) -> Iterator[Sample]:
        """Return the metrics that are known without the jobs. Counters come from the ledgers."""
        for one in self._of("stream", "lake_table"):
            labels = {"table": one.name}
            if one.kind == "stream":
                if one.part is None:
                    continue
                labels = {"stream": one.name, "output": one.part}
            yield from _samples(labels, one)

    def _of(self, *kinds: str) -> list[StatusLine]:
        found = self._overall.value()
        return [one for one in (() if found is None else found.lines) if one.kind in kinds]


def _output(line: StatusLine) -> OutputRow:
    counts = line.facts.counts
    return OutputRow(
        line.part or "",
        line.state,
        line.problem,
        line.lag,
        **({} if counts is None else counts.numbers),
        lost=line.facts.lost,
        complete_up_to=line.complete_up_to,
    )


def _samples(labels: dict[str, str], line: StatusLine) -> Iterator[Sample]:
    now_s, facts = time.time(), line.facts
    if facts.counts is not None:
        yield from counted(labels, facts.counts)
    if facts.lost is not None:
        yield Sample(LEDGER_GAP, labels, facts.lost)
    if line.lag is not None:
        yield Sample(LAG_RECORDS, labels, line.lag)
    if line.complete_up_to is not None:
        complete_s = parse_time_us(line.complete_up_to) / SECOND_US
        yield Sample(LAG_SECONDS, labels, max(0.0, now_s - complete_s))
        if line.kind == "lake_table":
            yield Sample(TABLE_COMPLETE_UP_TO, labels, complete_s)
    if line.kind == "lake_table" and line.last_batch is not None:
        since_s = now_s - parse_time_us(line.last_batch) / SECOND_US
        yield Sample(SINCE_LAST_COMMIT, labels, max(0.0, since_s))
