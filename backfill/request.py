"""What is asked of a replay of tables, and its whole way: plan, tags, delivery, certificate."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from backfill import tags
from backfill.enumerator import make_plan
from backfill.replay import Delivery
from backfill.source import LakeSource
from backfill.state import RunState
from headrace.locks import hold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backfill.jsonl import JsonlFolder
    from backfill.period import Period
    from backfill.plan import Order, Plan
    from headrace.config.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Request:
    """Which rows, in which order."""

    tables: tuple[str, ...]
    period: Period
    regions: tuple[str, ...]
    order: Order
    threshold_us: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run by its name. A resumed one goes by the plan that it was begun with."""

    run_id: str
    resume: bool


def new_run_id() -> str:
    """Name a run by the time at which it begins."""
    return datetime.now(UTC).strftime("replay-%Y%m%d-%H%M%S-%f")


def plan_of(workspace: Workspace, request: Request) -> Plan:
    """Plan a replay, and do nothing else."""
    sources = [
        LakeSource(workspace, name, request.period, request.regions)
        for name in dict.fromkeys(request.tables)
    ]
    return make_plan(sources, request.period, request.regions, request.order, request.threshold_us)


@contextmanager
def delivery(
    workspace: Workspace, request: Request, run: Run, target: JsonlFolder
) -> Iterator[Delivery]:
    """Hold a run, its plan and its snapshots; they are let go of when all is delivered."""
    state = RunState(workspace.state_dir / "backfill" / run.run_id)
    with hold(state.lock, f"replay {run.run_id}", "wait for it, or choose another --run-id"):
        place = str(target.folder.absolute())
        plan = state.plan(place) if run.resume else plan_of(workspace, request)
        sources = {
            planned.name: LakeSource(
                workspace, planned.name, plan.period, plan.regions, planned.snapshot_id
            )
            for planned in plan.sources
        }
        if not run.resume:
            state.begin(plan, place)
        for source in sources.values():
            tags.hold(source, run.run_id)
        going = Delivery(plan, sources, state)
        yield going
        if going.certificate().complete:
            for source in sources.values():
                tags.release(source, run.run_id)
