"""What `backfill plan` finds out: the plan, what of it is not as live, and whether it may begin."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from backfill.apps.live_differences import differences_asked_for
from backfill.apps.narrowing import conditions_of, partial_reads, query_of
from backfill.plan.preconditions import require_whole
from backfill.run.options import tables_of
from backfill.run.planning import plan_of
from backfill.run.watermarks import require_known, watermarks_of
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backfill.apps.live_differences import LiveDifference
    from backfill.apps.narrowing import PartialRead
    from backfill.plan.plan import Plan
    from backfill.run.request import ReplayRequest
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace


class PlannedReplay(NamedTuple):
    """The plan of a replay, what an application reads of tables in part, and what may differ.

    `refused` is why it would not begin.
    """

    plan: Plan
    parts: Sequence[PartialRead] = ()
    differences: Sequence[LiveDifference] = ()
    refused: Terminal | None = None


def plan_replay(
    workspace: Workspace, app: LoadedApp | None, request: ReplayRequest
) -> PlannedReplay:
    """Return the plan of a replay; of an application Spark is asked what its query is."""
    if app is None:
        plan = plan_of(workspace, request)
        return PlannedReplay(plan, refused=_refusal(plan, request))
    from headrace.spark import session  # noqa: PLC0415 - Spark is loaded when needed

    with session(workspace, f"plan-{app.config.name}") as spark:
        query = query_of(app, workspace, spark, request.time_column)
    marks = watermarks_of(app, tables_of(app))
    made = plan_of(workspace, request, conditions_of(query.uses), marks)
    parts = list(partial_reads(made, workspace, query.uses))
    differences = (*query.differences, *differences_asked_for(app, request))
    return PlannedReplay(made, parts, differences, _refusal(made, request))


def _refusal(plan: Plan, request: ReplayRequest) -> Terminal | None:
    """Return why a replay of this plan would not begin."""
    try:
        require_whole(plan, request, time.time_ns() // 1_000)
        require_known(plan)
    except Terminal as problem:
        return problem
    return None
