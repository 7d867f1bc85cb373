"""`router quarantine replay`: the configuration of today over the bad records of yesterday.

A record goes to the outputs that it failed for. What is good now is sent, what is still bad stays
and is looked at again by the next replay. What was sent is noted once it is acknowledged: a crash
in between sends it again, and loses nothing.
"""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from headrace.errors import UsageError
from headrace.kafka.ranges import RangeReader
from headrace.locks import hold
from router.ledger.state import stream_state
from router.plan.model import QUARANTINE, ToTable
from router.plan.planner import Planner
from router.quarantine.records import parse_quarantined, quarantine_of
from router.quarantine.replay_records import RecordReplay, Replayed, ReplayReport, ReplayTally
from router.run.jobs import chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.cluster import KafkaCluster
    from headrace.signals import Drain
    from router.explain.outcomes import BySpark
    from router.plan.model import RoutePlan
    from router.quarantine.records import QuarantinedRecord

    ShowProgress = Callable[[int, int], None]
    from collections.abc import Callable

# So many records are evaluated, sent and noted together.
MOST_RECORDS: Final = 10_000
MOST_BYTES: Final = 16 * 2**20
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asked for: outputs, all of them where none is named."""

    only: Sequence[str] = ()
    dry_run: bool = False


class QuarantineReplay:
    """One replay of what a stream's quarantine holds now."""

    def __init__(self, workspace: Workspace, stream: Effective, request: Request) -> None:
        self._request = request
        self._quarantine = quarantine_of(stream)
        self._properties = workspace.cluster(self._quarantine.cluster).client_properties()
        self._planner = Planner(workspace, stream)
        self._plan = self._planner.plan()
        self._state = stream_state(workspace, stream.config.name).member(QUARANTINE)
        self._names, self._tables = _without_tables(
            self._plan, chosen(stream, request.only), request
        )

    def run(self, by_spark: BySpark, drain: Drain, progress: ShowProgress) -> ReplayReport:
        """Replay; `progress` hears how many offsets of how many are done with."""
        topic, stream = self._quarantine.topic, self._plan.stream
        tallies = {name: ReplayTally() for name in self._names}
        report = ReplayReport(stream, topic, self._request.dry_run, tallies, self._tables)
        kafka = self._planner.kafka(self._quarantine.cluster)
        # A topic that is not there yet has no records.
        if not self._names or topic not in kafka.topics():
            return report
        what = f"a replay of the quarantine of stream {stream}"
        with hold(self._state / "replay.lock", what, "wait until it has ended"):
            records = self._records(kafka, report, by_spark)
            self._replay(kafka.offsets(topic), records, report, drain, progress)
        return report

    def _records(
        self, kafka: KafkaCluster, report: ReplayReport, by_spark: BySpark
    ) -> RecordReplay:
        # No quarantine: what is refused stays where it is.
        plan = replace(self._plan, quarantine=None)
        if not self._request.dry_run:
            plan = self._planner.resolved(plan, self._names)
        topic_id = kafka.topic_id(self._quarantine.topic)
        folder = self._state / "replayed"
        done = {name: Replayed(folder / f"{name}.json", topic_id) for name in self._names}
        return RecordReplay(plan, report, done, by_spark)

    def _replay(
        self,
        spans: Mapping[int, range],
        records: RecordReplay,
        report: ReplayReport,
        drain: Drain,
        progress: ShowProgress,
    ) -> None:
        whole = sum(map(len, spans.values()))
        with contextlib.closing(RangeReader(self._properties)) as reader:
            for read, group in _groups(reader, self._quarantine.topic, spans, report):
                records.replay(group)
                progress(read, whole)
                if drain.requested:
                    report.drained = True
                    return


def _without_tables(
    plan: RoutePlan, names: Sequence[str], request: Request
) -> tuple[list[str], list[str]]:
    """Part the outputs that can be replayed from tables, whose rows only their query writes."""
    of_tables = {one.name for one in plan.outlets if isinstance(one.target, ToTable)}
    tables = [name for name in names if name in of_tables]
    advice = "send the corrected records to the source topic, and every output gets them"
    if tables and request.only:
        raise UsageError(
            f"output {tables[0]} is a table, and records cannot be replayed into a table", advice
        )
    for name in tables:
        log.warning("an output is skipped because it is a table", output=name, advice=advice)
    return [name for name in names if name not in of_tables], tables


def _groups(
    reader: RangeReader, topic: str, spans: Mapping[int, range], report: ReplayReport
) -> Iterator[tuple[int, list[QuarantinedRecord]]]:
    """Give the stream's own records, as many as are worked on together, and how many were read."""
    group: list[QuarantinedRecord] = []
    size = read = 0
    for _, messages in reader.chunks(topic, spans):
        for message in messages:
            kept = parse_quarantined(message)
            read += 1
            if kept is None or kept.outputs(report.stream) is None:
                report.others += 1
                continue
            group.append(kept)
            size += kept.size
            if len(group) >= MOST_RECORDS or size >= MOST_BYTES:
                yield read, group
                group, size = [], 0
    if group:
        yield read, group


@contextmanager
def shown_progress() -> Iterator[Callable[[int, int], None]]:
    """Give what shows how many records of how many are done with."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replaying", total=None)
        yield lambda read, whole: bar.update(task, completed=read, total=whole)
