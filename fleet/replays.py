"""The replays of this host for the API, from what each run keeps of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from backfill.plan.plan import read_plan
from backfill.results.runs import runs_of
from backfill.run.facts import ReplayFacts, reach_by_bounds
from backfill.run.request import state_of
from headrace.http.rows import ReplayRow, ReplaySourceRow

if TYPE_CHECKING:
    from pathlib import Path

    from backfill.plan.plan import Plan
    from backfill.results.runs import RunStatus
    from headrace.config.workspace.workspace import Workspace

NEWEST: Final = 100


def replay_rows(workspace: Workspace) -> list[ReplayRow]:
    """Return the newest replays. What only the process of a run knows is None."""
    return [_row(workspace, one) for one in runs_of(workspace)[:NEWEST]]


def replay_row(workspace: Workspace, run_id: str) -> ReplayRow | None:
    """Return one replay, with its frontier and its sources by its plan; None where there is none."""
    # What a request names is compared with what is there, and never becomes a path by itself.
    run = next((one for one in runs_of(workspace) if one.run_id == run_id), None)
    if run is None:
        return None
    row, plan_file = _row(workspace, run), state_of(workspace, run.run_id).plan_file
    try:
        plan = _plan(plan_file, plan_file.stat().st_mtime_ns)
    except OSError:
        # It was cancelled in the meantime.
        return row
    reach = reach_by_bounds(plan, run.steps_done, row.rows or 0)
    (by_plan,) = ReplayFacts(run.run_id, plan, reach).replays()
    return replace(
        by_plan,
        state=row.state,
        rows=row.rows,
        rows_planned=row.rows_planned,
        eta_s=None,
        certificate=row.certificate,
    )


@lru_cache(maxsize=2)
def _plan(path: Path, _changed_ns: int) -> Plan:
    # A long one has hundreds of megabytes: the page of a run asks for it once a second.
    return read_plan(path)


def _row(workspace: Workspace, run: RunStatus) -> ReplayRow:
    state, certificate = state_of(workspace, run.run_id), None
    if run.stage == "complete":
        certificate = _certificate(state.certificate.read_text(encoding="utf-8"))
    if certificate is not None:
        rows: int | None = certificate.get("rows")
    else:
        rows = sum(state.position().rows.values()) if run.app is None else None
    return ReplayRow(
        run.run_id,
        run.stage,
        run.steps_done,
        run.steps,
        rows,
        run.rows_planned,
        threshold_ms=None if certificate is None else certificate.get("threshold_ms"),
        sources=[ReplaySourceRow(name) for name in run.tables],
        certificate=certificate,
    )


def _certificate(text: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        return None
    return found
