"""What is known of a replay beside its progress: what was asked and planned, and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill.results.runs import runs_of
from backfill.run.request import state_of
from fleet.launches import LaunchFolder, launch_of
from fleet.replay_results import can_compare, can_publish, has_own_output, key_of, live_table
from headrace.http.replay_rows import ReplayDetail

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace


def replay_detail(workspace: Workspace, run_id: str) -> ReplayDetail | None:
    """Return what is known of a replay; None where there is none of that name."""
    launch = launch_of(workspace, run_id)
    run = next((one for one in runs_of(workspace) if one.run_id == run_id), None)
    if run is None and launch is None:
        return None
    folder = LaunchFolder(workspace, run_id)
    asked = {} if launch is None else launch.asked
    plan = None if launch is None else launch.plan
    log = None if launch is None else str(folder.log)
    problem = None if launch is None else folder.problem()
    advice = None if problem is None else problem.advice or None
    if run is None:
        is_live = launch is not None and launch.cancelled is None and launch.process is not None
        return ReplayDetail(
            run_id,
            asked.get("to"),
            asked.get("app"),
            None if launch is None else launch.begun,
            can_cancel=is_live,
            log=log,
            advice=advice,
            asked=asked,
            plan=plan,
            comparison=folder.comparison(),
        )
    record = state_of(workspace, run_id).record()
    if record is None:
        return None
    cancelled = None if launch is None else launch.cancelled
    # A name may be used again after that.
    is_ending = (
        run.stage == "running" and cancelled is not None and cancelled[:19] >= run.begun[:19]
    )
    return ReplayDetail(
        run_id,
        _shown(workspace, run.to),
        None if record.used is None else record.used.name,
        run.begun,
        run.staged,
        live_table(record),
        record.published,
        key_of(record),
        can_cancel=not is_ending and (run.stage != "complete" or run.staged is not None),
        can_compare=can_compare(run) and live_table(record) is not None,
        can_publish=can_publish(run, record),
        is_ending=is_ending,
        can_delete_output=has_own_output(run),
        log=log,
        advice=advice,
        asked=asked,
        plan=plan,
        comparison=folder.comparison(),
    )


def _shown(workspace: Workspace, to: str) -> str:
    """Return where a run writes, a folder of the workspace by its path in there."""
    inside = f"jsonl:{workspace.root}/"
    return f"jsonl:{to.removeprefix(inside)}" if to.startswith(inside) else to
