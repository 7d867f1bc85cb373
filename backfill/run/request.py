"""What is asked of a replay of tables, and its whole way: plan, tags, delivery, certificate."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog

from backfill import tags
from backfill.enumerator import STEP_LIMITS, make_plan
from backfill.event_spans import EventColumns
from backfill.lookups.resolve import ends_of_steps, histories, planned
from backfill.pace import Rate
from backfill.planner import Limits
from backfill.preconditions import require_whole
from backfill.replay import Delivery
from backfill.source import LakeSource
from backfill.state import RunRecord, RunState
from backfill.watermarks import resolved
from backfill.widening import given
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError
from headrace.locks import hold
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Literal

    from backfill.conditions import Condition
    from backfill.period import Period
    from backfill.plan import Order, Plan
    from backfill.preconditions import NullTimes, UpTo
    from backfill.replay import Target
    from backfill.value_formats import ValueFormat
    from backfill.widening import Watermark
    from headrace.config.lookups import Lookup
    from headrace.config.workspace import Workspace

log = structlog.get_logger(__name__)
# At a rate, a step is to be done within this time, so that little is repeated after a crash.
STEP_S = 10


@dataclass(frozen=True, slots=True)
class Request:
    """Which rows, in which order, how fast."""

    tables: tuple[str, ...]
    period: Period
    regions: tuple[str, ...]
    order: Order
    threshold_us: int
    rate: Rate | Literal["auto"] | None = None
    time_column: str = INGESTION_TS
    # Whether the times are read of a file that keeps no bounds of them.
    scan: bool = False
    # Of an application: the period asked for, where the one that is read is wider.
    emitted: Period | None = None
    stage: bool = False
    close_windows: bool = False
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    # Of an application: by how much its watermarks are widened; by default as the steps ask.
    widen_by_us: int | None = None
    # By table; of one that is not there, `fail`.
    null_times: Mapping[str, NullTimes] = field(default_factory=dict)
    up_to: UpTo = "complete"

    @property
    def limits(self) -> Limits:
        """How much a step may hold."""
        match self.rate:
            case Rate(per_s, "rows"):
                rows = max(1, min(STEP_LIMITS.max_rows, int(per_s * STEP_S)))
                return Limits(rows, STEP_LIMITS.max_bytes)
            case Rate(per_s, "bytes"):
                size = max(1, min(STEP_LIMITS.max_bytes, int(per_s * STEP_S)))
                return Limits(STEP_LIMITS.max_rows, size)
            case _:
                return STEP_LIMITS


@dataclass(frozen=True, slots=True)
class Run:
    """A run by its name. A resumed one goes by the plan that it was begun with."""

    run_id: str
    resume: bool
    key: str | None = None
    formats: Mapping[str, ValueFormat] = field(default_factory=dict)


def new_run_id() -> str:
    """Name a run by the time at which it begins."""
    return datetime.now(UTC).strftime("replay-%Y%m%d-%H%M%S-%f")


def state_of(workspace: Workspace, run_id: str) -> RunState:
    """Return the state of a run by its name."""
    if not run_id or "/" in run_id or run_id.startswith("."):
        raise UsageError(
            f"--run-id {run_id} is no name", "a word without slashes: it names a folder"
        )
    return RunState(workspace.state_dir / "backfill" / run_id)


def held_by(run_id: str) -> tuple[str, str]:
    """Return how a run's lock names it, and what whoever comes second can do."""
    return f"replay {run_id}", "wait for it, or choose another --run-id"


def plan_of(
    workspace: Workspace,
    request: Request,
    conditions: Mapping[str, Sequence[Condition]] | None = None,
    watermarks: Sequence[Watermark] = (),
) -> Plan:
    """Plan a replay, and do nothing else; of a table with conditions only rows that meet them."""
    asked = conditions or {}
    marked = resolved(workspace, watermarks, request.time_column)
    looked_up = histories(workspace, request.lookups)
    sources = [
        LakeSource(
            workspace,
            name,
            request.period,
            request.regions,
            time_column=request.time_column,
            scan=request.scan,
            conditions=asked.get(name, ()),
            events=marked.events(name) if request.widen_by_us is None else EventColumns(),
        )
        for name in dict.fromkeys(request.tables)
    ]
    plan = make_plan(
        sources,
        request.period,
        request.regions,
        request.order,
        request.threshold_us,
        limits=request.limits,
        ends_us=ends_of_steps(looked_up, request.period, request.order),
        watermarks=marked.known,
        widen_by_us=request.widen_by_us,
    )
    unknown = (
        marked.unknown
        if request.widen_by_us is None
        else given(marked.unknown, request.widen_by_us)
    )
    for source, held in zip(sources, plan.sources, strict=True):
        if not held.files + held.files_skipped and (span := source.whole_span_us()) is not None:
            its_rows = " to ".join(map(format_time_us, span))
            log.warning("no rows in the period", table=source.name, it_has=its_rows)
    return replace(
        plan,
        lookups=planned(looked_up, plan.steps),
        watermarks=(*plan.watermarks, *unknown),
    )


def plan_to_run(
    workspace: Workspace,
    request: Request,
    conditions: Mapping[str, Sequence[Condition]] | None = None,
    watermarks: Sequence[Watermark] = (),
) -> Plan:
    """Plan a replay that is to be run: refused where rows of it have no time, or are still to come."""
    plan = plan_of(workspace, request, conditions, watermarks)
    require_whole(plan, request, time.time_ns() // 1_000)
    return plan


def sources_of(
    workspace: Workspace, plan: Plan, columns: Sequence[str] = ()
) -> dict[str, LakeSource]:
    """Return the tables at the snapshots that a plan has pinned."""
    return {
        planned.name: LakeSource(
            workspace,
            planned.name,
            plan.period,
            plan.regions,
            snapshot_id=planned.snapshot_id,
            schema_id=planned.schema_id,
            columns=columns,
            time_column=plan.time_column,
            conditions=planned.conditions,
        )
        for planned in plan.sources
    }


def record_of(plan: Plan, to: str, app: str | None = None, run: Run | None = None) -> RunRecord:
    """Sum up a run that begins now."""
    key, formats = (None, {}) if run is None else (run.key, dict(run.formats))
    begun = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    tables = tuple(source.name for source in plan.sources)
    return RunRecord(to, begun, len(plan.steps), plan.rows, tables, app, key, formats)


@contextmanager
def delivery(
    workspace: Workspace, request: Request | None, run: Run, target: Target
) -> Iterator[Delivery]:
    """Hold a run, its plan and its snapshots; they are let go of when all is delivered.

    Without a request the run goes on by the plan that it was begun with.
    """
    state = state_of(workspace, run.run_id)
    with hold(state.lock, *held_by(run.run_id)):
        if request is None:
            plan = _resumed(state, target)
        else:
            state.refuse_existing()
            plan = plan_to_run(workspace, request)
            state.begin(plan, record_of(plan, target.place, run=run))
        sources = sources_of(workspace, plan)
        for source in sources.values():
            tags.hold(source, run.run_id)
        going = Delivery(plan, sources, state)
        yield going
        certificate = going.certificate()
        if certificate.complete:
            state.keep_certificate(certificate.to_json())
            for source in sources.values():
                tags.release(source.table, run.run_id)


def _resumed(state: RunState, target: Target) -> Plan:
    state.require()
    record = state.record()
    if record is not None and record.to != target.place:
        raise UsageError(
            f"run {state.run_id} goes to {record.to}, not to {target.place}", f"--to {record.to}"
        )
    return state.plan()
