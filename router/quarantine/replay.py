"""`router quarantine replay`: the configuration of today over the bad records of yesterday.

A record goes to the outputs that it failed for. What is good now is sent, what is still bad stays
and is looked at again by the next replay. What was sent is noted once it is acknowledged: a crash
in between sends it again, and loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import structlog

from headrace.errors import UsageError
from headrace.kafka.ranges import RangeReader
from headrace.locks import hold
from router.jobs import chosen
from router.kept import kept_of
from router.plan import QUARANTINE, ToTable
from router.planning import Planner
from router.quarantine_list import quarantine_of
from router.replay_records import RecordReplay, Report, Tally
from router.replayed import Replayed
from router.state import stream_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.config.effective import Effective
    from headrace.config.workspace import Workspace
    from headrace.kafka.cluster import KafkaCluster
    from headrace.signals import Drain
    from router.kept import Kept
    from router.outcomes import BySpark
    from router.plan import RoutePlan

    Progress = Callable[[int, int], None]

# So many records are evaluated, sent and noted together.
MOST_RECORDS: Final = 10_000
MOST_BYTES: Final = 16 * 2**20
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asked for: outputs, all of them where none is named."""

    only: Sequence[str] = ()
    dry_run: bool = False


class Replay:
    """One replay of what a stream's quarantine holds now."""

    def __init__(self, workspace: Workspace, stream: Effective, request: Request) -> None:
        self._request = request
        self._place = quarantine_of(stream)
        self._properties = workspace.cluster(self._place.cluster).client_properties()
        self._planner = Planner(workspace, stream)
        self._plan = self._planner.plan()
        self._state = stream_state(workspace, stream.config.name).member(QUARANTINE)
        self._names, self._tables = _parted(self._plan, chosen(stream, request.only), request)

    def run(self, by_spark: BySpark, drain: Drain, progress: Progress) -> Report:
        """Replay; `progress` hears how many offsets of how many are done with."""
        topic, stream = self._place.topic, self._plan.stream
        tallies = {name: Tally() for name in self._names}
        report = Report(stream, topic, self._request.dry_run, tallies, self._tables)
        kafka = self._planner.kafka(self._place.cluster)
        # A topic that is not there yet has no records.
        if not self._names or topic not in kafka.topics():
            return report
        what = f"a replay of the quarantine of stream {stream}"
        with hold(self._state / "replay.lock", what, "wait until it has ended"):
            records = self._records(kafka, report, by_spark)
            self._replay(kafka.offsets(topic), records, report, drain, progress)
        return report

    def _records(self, kafka: KafkaCluster, report: Report, by_spark: BySpark) -> RecordReplay:
        # No quarantine: what is refused stays where it is.
        plan = replace(self._plan, quarantine=None)
        if not self._request.dry_run:
            plan = self._planner.resolved(plan, self._names)
        topic_id = kafka.topic_id(self._place.topic)
        folder = self._state / "replayed"
        done = {name: Replayed(folder / f"{name}.json", topic_id) for name in self._names}
        return RecordReplay(plan, report, done, by_spark)

    def _replay(
        self,
        spans: Mapping[int, range],
        records: RecordReplay,
        report: Report,
        drain: Drain,
        progress: Progress,
    ) -> None:
        whole = sum(map(len, spans.values()))
        reader = RangeReader(self._properties)
        try:
            for read, group in _groups(reader, self._place.topic, spans, report):
                records.group(group)
                progress(read, whole)
                if drain.requested:
                    report.drained = True
                    return
        finally:
            reader.close()


def _parted(plan: RoutePlan, names: Sequence[str], request: Request) -> tuple[list[str], list[str]]:
    """Part the outputs that can be replayed from tables, whose rows only their query writes."""
    of_tables = {one.name for one in plan.outlets if isinstance(one.target, ToTable)}
    tables = [name for name in names if name in of_tables]
    advice = "send the mended records to the source topic, and every output gets them"
    if tables and request.only:
        raise UsageError(f"output {tables[0]} is a table: nothing is replayed into it", advice)
    for name in tables:
        log.warning("an output is left out: it is a table", output=name, advice=advice)
    return [name for name in names if name not in of_tables], tables


def _groups(
    reader: RangeReader, topic: str, spans: Mapping[int, range], report: Report
) -> Iterator[tuple[int, list[Kept]]]:
    """Give the stream's own records, as many as are worked on together, and how many were read."""
    group: list[Kept] = []
    size = read = 0
    for _, messages in reader.chunks(topic, spans):
        for message in messages:
            kept = kept_of(message)
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
