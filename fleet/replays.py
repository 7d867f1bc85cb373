"""The replays of this host for the API, from what each run keeps of itself."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from backfill.plan.plan import read_plan
from backfill.results.runs import runs_of
from backfill.run.facts import ReplayFacts, reach_by_bounds
from backfill.run.request import state_of
from fleet.launches import LaunchFolder, launch_of, launches
from fleet.replay_details import replay_detail
from headrace.http.rows import ReplayRow, ReplaySourceRow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from backfill.plan.plan import Plan
    from backfill.results.runs import RunStatus
    from fleet.launches import Launch
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.replay_rows import ReplayDetail

NEWEST: Final = 100
# Since when a run is watched, and how many rows it had delivered then.
Begun = tuple[float, int]


class Replays:
    """The replays of this host: those that have a plan, and those that were started here."""

    def __init__(self, workspace: Workspace, clock: Callable[[], float] = time.monotonic) -> None:
        self._workspace = workspace
        self._clock = clock
        self._begun: dict[str, Begun] = {}

    def rows(self) -> list[ReplayRow]:
        """Return the newest replays. What only the process of a run knows is None."""
        workspace = self._workspace
        known = {one.run_id: one for one in launches(workspace)}
        runs = runs_of(workspace)
        found = [(one.begun, _row(workspace, one, known.get(one.run_id))) for one in runs]
        ids = {one.run_id for one in runs}
        found += [
            (one.begun, launch_row(workspace, one))
            for one in known.values()
            if one.run_id not in ids
        ]
        newest = sorted(found, key=lambda one: (one[0][:19], one[1].run_id), reverse=True)
        return [row for _, row in newest[:NEWEST]]

    def row(self, run_id: str) -> ReplayRow | None:
        """Return one replay, with its frontier and its sources by its plan; None where there is none."""
        # What a request names is compared with what is there, and never becomes a path by itself.
        workspace = self._workspace
        launch = launch_of(workspace, run_id)
        run = next((one for one in runs_of(workspace) if one.run_id == run_id), None)
        if run is None:
            return None if launch is None else launch_row(workspace, launch)
        row, plan_file = _row(workspace, run, launch), state_of(workspace, run.run_id).plan_file
        try:
            plan = _plan(plan_file, plan_file.stat().st_mtime_ns)
        except OSError:
            # It was cancelled in the meantime.
            return row
        rows = row.rows
        if rows is None:
            rows = sum(step.rows for step in plan.steps[: run.steps_done])
        reach = reach_by_bounds(plan, run.steps_done, rows)
        (by_plan,) = ReplayFacts(run.run_id, plan, reach).replays()
        return replace(
            by_plan,
            state=row.state,
            rows=rows,
            rows_planned=row.rows_planned,
            eta_s=self._eta_s(row, rows),
            certificate=row.certificate,
            problem=row.problem,
        )

    def detail(self, run_id: str) -> ReplayDetail | None:
        """Return what is known of a replay beside its progress."""
        return replay_detail(self._workspace, run_id)

    def _eta_s(self, row: ReplayRow, rows: int) -> float | None:
        """Return how long it will take, by how fast it was since somebody looked first."""
        if row.state != "running":
            self._begun.pop(row.run_id, None)
            return None
        now_s = self._clock()
        began_s, before = self._begun.setdefault(row.run_id, (now_s, rows))
        gained, left = rows - before, (row.rows_planned or 0) - rows
        return round(max(0, left) * (now_s - began_s) / gained, 1) if gained > 0 else None


@lru_cache(maxsize=2)
def _plan(path: Path, _changed_ns: int) -> Plan:
    # A long one has hundreds of megabytes: the page of a run asks for it once a second.
    return read_plan(path)


def launch_row(workspace: Workspace, launch: Launch) -> ReplayRow:
    """Return a replay that was started here, and has no plan: not yet, or not any more."""
    tables = [ReplaySourceRow(str(name)) for name in launch.asked.get("tables", ())]
    row = ReplayRow(launch.run_id, "starting", 0, 0, sources=tables)
    if launch.cancelled is not None:
        return replace(row, state="cancelled")
    if launch.process is not None:
        return row
    folder = LaunchFolder(workspace, launch.run_id)
    problem = folder.problem()
    why = "its process has ended" if problem is None else problem.message
    return replace(row, state="failed", problem=why)


def _row(workspace: Workspace, run: RunStatus, launch: Launch | None) -> ReplayRow:
    state, certificate = state_of(workspace, run.run_id), None
    if run.stage == "complete":
        certificate = _certificate(state.certificate.read_text(encoding="utf-8"))
    if certificate is not None:
        rows: int | None = certificate.get("rows")
    else:
        rows = sum(state.position().rows.values()) if run.app is None else None
    row = ReplayRow(
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
    if run.stage != "stopped" or launch is None or launch.process is not None:
        return row
    problem = LaunchFolder(workspace, run.run_id).problem()
    if problem is None:
        return row
    return replace(row, state="failed", problem=problem.message)


def _certificate(text: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        return None
    return found
