"""One query of a stream: Spark says up to where a batch goes, tasks route it, ledgers keep it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import structlog

from headrace.errors import HeadraceError, Transient
from headrace.jvm.tasks import run_tasks
from headrace.kafka.settings import topic_stream
from headrace.kafka.source_topic import require_not_shorter
from headrace.queries.checkpoint import batch_ends, fit
from headrace.queries.streaming import Job
from router.ledger.entries import Counts, LedgerEntry, LedgerStretch, checked
from router.run.groups import shares
from router.run.member import now_text
from router.tasks.task import Done, RoutingWork, work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.workspace.workspace import Cluster
    from headrace.kafka.source_topic import SourceTopic
    from router.plan.model import RoutePlan
    from router.plan.planner import Planner
    from router.run.member import Member

    RunWork: TypeAlias = Callable[[SparkSession, Sequence[RoutingWork]], list[Done]]

# A batch takes seconds at most: so long a drain lasts, and so much is repeated after a crash.
MOST_PER_BATCH: Final = 1_000_000
# Spark's number for a partition's first record.
EARLIEST: Final = -2
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """What all queries of a stream have in common."""

    planner: Planner
    plan: RoutePlan
    cluster: Cluster
    source: SourceTopic
    tasks: int
    trigger: timedelta | None


def run_in_tasks(spark: SparkSession, works: Sequence[RoutingWork]) -> list[Done]:
    """Let each piece of work be a Spark task from its first fetch to its last acknowledgement."""
    return run_tasks(spark, work, works)


class RouterQuery:
    """The members of one group, from their positions in the topic on."""

    def __init__(
        self,
        settings: QuerySettings,
        members: Sequence[Member],
        checkpoint: Path,
        run: RunWork = run_in_tasks,
    ) -> None:
        self.name = checkpoint.parent.name
        self._settings = settings
        self._members = {member.name: member for member in members}
        self._checkpoint = checkpoint
        self._run = run

    def job(self, spark: SparkSession) -> Job:
        """Return the query, to be started from where its members are; and again after a failure."""
        settings = self._settings
        topic = settings.plan.source.topic
        plan = settings.planner.resolved(settings.plan, self._members)
        for member in self._members.values():
            member.begin(settings.source)
        positions = self._first_positions()
        fit(self._checkpoint, topic, positions)
        rows = topic_stream(spark, settings.cluster, topic, positions, MOST_PER_BATCH)

        def handle(batch: DataFrame, batch_id: int) -> None:
            self._route(batch.sparkSession, plan, batch_id)

        return Job(self.name, rows, handle, self._checkpoint, settings.trigger)

    def _first_positions(self) -> dict[int, int]:
        positions: dict[int, int] = {}
        for member in self._members.values():
            for number, at in member.positions.items():
                positions[number] = min(positions.get(number, at), at)
        known = self._settings.source.partitions()
        # Spark wants to hear of every partition; one that is new begins at its first record.
        return {number: positions.get(number, EARLIEST) for number in known | positions.keys()}

    def _route(self, spark: SparkSession, plan: RoutePlan, batch_id: int) -> None:
        source = self._settings.source
        ends = batch_ends(self._checkpoint, batch_id, plan.source.topic)
        topic_id = source.identity()
        for member in self._members.values():
            member.require_same(topic_id)
        # Before the records are read: what a leader had by then was not replaced since.
        held = source.kafka.ends(plan.source.topic)
        starts: dict[str, dict[int, int]] = {}
        lost: dict[str, dict[int, int]] = {}
        replaced: dict[str, dict[int, int]] = {}
        for name, member in self._members.items():
            reached = member.reached
            # A partition that it does not know was made after it began: nothing of it was read.
            begin = {number: reached[number].offset if number in reached else 0 for number in ends}
            if any(ends[number] < at for number, at in begin.items()):
                # A batch may also end before an output that is ahead of the others.
                require_not_shorter(member.reader, source.topic, begin, held.spans)
            gone = source.lost(member.reader, begin, held.spans, ends)
            lost[name] = {number: len(gap) for number, gap in gone.items()}
            others = source.replaced(member.reader, reached, held)
            replaced[name] = {number: len(span) for number, span in others.items()}
            starts[name] = {
                number: at + lost[name].get(number, 0)
                for number, at in begin.items()
                if at < ends[number]
            }
        done = self._work(spark, plan, starts, ends)
        for name, member in self._members.items():
            stretches = {
                number: LedgerStretch(
                    at - lost[name].get(number, 0),
                    ends[number],
                    done.get(name, {}).get(number, Counts()),
                    lost[name].get(number, 0),
                    replaced[name].get(number, 0),
                    held.epoch(number, ends[number]),
                )
                for number, at in starts[name].items()
            }
            if stretches:
                entry = LedgerEntry(batch_id, now_text(), stretches)
                member.record(checked(entry))
                log.info("batch routed", output=name, batch=batch_id, **shown(entry.counts))

    def _work(
        self,
        spark: SparkSession,
        plan: RoutePlan,
        starts: Mapping[str, Mapping[int, int]],
        ends: Mapping[int, int],
    ) -> dict[str, dict[int, Counts]]:
        """Let tasks route the ranges; return what became of them, by member and partition."""
        widths = {
            number: end - min(at.get(number, end) for at in starts.values())
            for number, end in ends.items()
        }
        works = [
            RoutingWork(
                plan,
                {number: ends[number] for number in part},
                {
                    name: {number: at[number] for number in part if number in at}
                    for name, at in starts.items()
                },
            )
            for part in shares(widths, self._settings.tasks)
        ]
        if not works:
            return {}
        try:
            results = self._run(spark, works)
        except Exception as problem:
            raise _failed_task(problem) from problem
        merged: dict[str, dict[int, Counts]] = {}
        for done in results:
            if done.problem is not None:
                raise done.problem
            for name, counts in done.counts.items():
                merged.setdefault(name, {}).update(counts)
        return merged


def shown(counts: Counts) -> dict[str, int]:
    """Return the counts for a log line or a report, without what did not happen."""
    whole = {
        "read": counts.read,
        "written": counts.written,
        "filtered": counts.filtered,
        "dropped": sum(counts.dropped.values()),
        "quarantined": counts.quarantined,
    }
    return {name: value for name, value in whole.items() if value or name in {"read", "written"}}


def _failed_task(problem: Exception) -> HeadraceError:
    if isinstance(problem, HeadraceError):
        return problem
    all_lines = [line.strip() for line in str(problem).splitlines()]
    lines = [line for line in all_lines if line and not line.startswith("at ")]
    causes = [line for line in lines if "Error" in line or "Exception" in line] or lines
    return Transient(f"a task failed: {causes[-1] if causes else problem!r}", "see Spark's log")
