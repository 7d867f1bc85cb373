"""`router quarantine replay`: the configuration of today over the bad records of yesterday.

A record goes to the outputs that it failed for. What is good now is sent, what is still bad stays
and is looked at again by the next replay. What was sent is noted once it is acknowledged: a crash
in between sends it again, and loses nothing.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from headrace.contract import QUARANTINE
from headrace.errors import UsageError
from headrace.locks import hold
from headrace.state_version import require_known
from router.explain.outcomes import Evaluator
from router.plan.model import ToTable
from router.plan.planner import Planner
from router.quarantine.records import own_record, quarantine_of
from router.quarantine.replay_records import RecordReplay, ReplayReport, ReplayTally
from router.quarantine.replay_state import ReplayRecorder, lock_in
from router.quarantine.replayed import replayed_by
from router.quarantine.report import replay_fields
from router.run.jobs import chosen
from router.state import stream_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.message import Message
    from headrace.signals import Drain
    from router.explain.outcomes import BySpark
    from router.plan.model import RoutePlan
    from router.quarantine.records import QuarantinedRecord

# So many records are evaluated, sent and noted together.
MOST_RECORDS: Final = 10_000
MOST_BYTES: Final = 16 * 2**20
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asked for: outputs, all of them where none is named."""

    only: Sequence[str] = ()
    dry_run: bool = False


def replay_quarantine(
    workspace: Workspace, stream: Effective, request: Request, by_spark: BySpark, drain: Drain
) -> ReplayReport:
    """Replay what a stream's quarantine holds now."""
    # A start of Spark does it, too, but most streams need no Spark here.
    require_known(workspace.state_dir)
    quarantine = quarantine_of(stream)
    planner = Planner(workspace, stream)
    plan = planner.plan()
    names, tables = _without_tables(plan, chosen(stream, request.only), request)
    tallies = {name: ReplayTally() for name in names}
    report = ReplayReport(plan.stream, quarantine.topic, request.dry_run, tallies, tables)
    folder = stream_state(workspace, plan.stream).member(QUARANTINE)
    what = f"a replay of the quarantine of stream {plan.stream}"
    with (
        hold(lock_in(folder), what, "wait until it has ended"),
        nullcontext() if request.dry_run else ReplayRecorder(folder) as recorder,
        _shown_progress() as progress,
    ):

        def tell(read: int, whole: int) -> None:
            progress(read, whole)
            if recorder is not None:
                recorder.note(read, whole, replay_fields(report))

        kafka = planner.kafka(quarantine.cluster)
        # A topic that is not there yet has no records.
        if not names or quarantine.topic not in kafka.topics():
            tell(0, 0)
            return report
        # No quarantine: what is refused stays where it is.
        plan = replace(plan, quarantine=None)
        if not request.dry_run:
            plan = planner.resolved(plan, names)
        done = replayed_by(folder, names, kafka.topic_id(quarantine.topic))
        records = RecordReplay(plan, report, done, Evaluator(plan, names, by_spark))
        whole = sum(map(len, kafka.offsets(quarantine.topic).values()))
        for read, group in _groups(kafka.records(quarantine.topic), report):
            records.replay(group)
            report.drained = drain.requested
            tell(read, whole)
            if report.drained:
                return report
        tell(whole, whole)
    return report


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
    messages: Iterable[Message], report: ReplayReport
) -> Iterator[tuple[int, list[QuarantinedRecord]]]:
    """Give the stream's own records, as many as are worked on together, and how many were read."""
    group: list[QuarantinedRecord] = []
    size = read = 0
    for read, message in enumerate(messages, start=1):
        kept = own_record(message, report.stream)
        if kept is None:
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
def _shown_progress() -> Iterator[Callable[[int, int], None]]:
    """Give what shows how many records of how many are done with."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replaying", total=None)
        yield lambda read, whole: bar.update(task, completed=read, total=whole)
