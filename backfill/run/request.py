"""What is asked of a replay of tables, and its whole way: plan, tags, delivery, certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from backfill.plan.steps import STEP_LIMITS, Limits
from backfill.run.pace import Rate
from backfill.run.state import RunRecord, RunState
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from backfill.plan.period import Period
    from backfill.plan.plan import Order, Plan
    from backfill.plan.preconditions import NullTimes, UpTo
    from headrace.config.app.file import Lookup
    from headrace.config.workspace.workspace import Workspace
    from headrace.contract import ValueFormat

# At a rate, a step is to be done within this time, so that little is repeated after a crash.
STEP_S = 10


@dataclass(frozen=True, slots=True)
class ReplayRequest:
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
    # Of an application: the candidates of its sources that are read instead of the selected ones.
    choices: Mapping[str, str] = field(default_factory=dict)
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
class RunOptions:
    """A run by its name. A resumed one goes by the plan that it was begun with."""

    run_id: str
    resume: bool
    key: str | None = None
    formats: Mapping[str, ValueFormat] = field(default_factory=dict)


def new_run_id(what: str = "replay") -> str:
    """Name a run by the time at which it begins."""
    return f"{what}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"


def state_of(workspace: Workspace, run_id: str) -> RunState:
    """Return the state of a run by its name."""
    if not run_id or "/" in run_id or run_id.startswith("."):
        raise UsageError(
            f"--run-id {run_id} is not a valid name",
            "use a word without slashes: it becomes the name of a folder",
        )
    return RunState(workspace.state_dir / "backfill" / run_id)


def held_by(run_id: str) -> tuple[str, str]:
    """Return how a run's lock names it, and what whoever comes second can do."""
    return f"replay {run_id}", "wait until it has ended, or choose another --run-id"


def record_of(
    plan: Plan, to: str, app: str | None = None, run: RunOptions | None = None
) -> RunRecord:
    """Sum up a run that begins now."""
    key, formats = (None, {}) if run is None else (run.key, dict(run.formats))
    begun = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    tables = tuple(source.name for source in plan.sources)
    return RunRecord(to, begun, len(plan.steps), plan.rows, tables, app, key, formats)
