"""The replays of this host for the API, from what each run keeps of itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from backfill.results.runs import runs_of
from backfill.run.request import state_of
from headrace.http.rows import ReplayRow, ReplaySourceRow

if TYPE_CHECKING:
    from backfill.results.runs import RunStatus
    from headrace.config.workspace.workspace import Workspace

NEWEST: Final = 100


def replay_rows(workspace: Workspace) -> list[ReplayRow]:
    """Return the newest replays. What only the process of a run knows is None."""
    return [_row(workspace, one) for one in runs_of(workspace)[:NEWEST]]


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
