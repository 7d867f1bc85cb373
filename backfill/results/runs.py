"""The runs of a workspace: what there is, how far each is, and ending one for good."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from backfill.run import tags
from backfill.run.request import state_of
from backfill.run.state import RunState
from backfill.tables.jsonl import JsonlFolder
from headrace import state_files
from headrace.errors import UsageError
from headrace.iceberg.replace import drop_branch
from headrace.iceberg.tables import drop_table
from headrace.locks import hold, is_held
from headrace.state_version import refuse_newer

if TYPE_CHECKING:
    from backfill.run.state import RunRecord
    from headrace.config.workspace.workspace import Workspace

RunStage = Literal["running", "stopped", "complete"]


@dataclass(frozen=True, slots=True)
class RunStatus:
    """A run, in a line."""

    run_id: str
    stage: RunStage
    steps_done: int
    steps: int
    rows_planned: int
    begun: str
    tables: tuple[str, ...]
    app: str | None
    to: str
    staged: str | None = None


@dataclass(frozen=True, slots=True)
class CancelledRun:
    """What ending a run took away."""

    run_id: str
    tags_removed: tuple[str, ...]
    output_removed: str | None


def runs_of(workspace: Workspace) -> list[RunStatus]:
    """Return all runs, the newest first."""
    folder = workspace.state_dir / "backfill"
    states = [RunState(one) for one in folder.glob("[!.]*") if one.is_dir()]
    found = [
        _status(state, record)
        for state in states
        # One that ended before its plan was kept has done nothing, and may be begun again.
        if state.exists and (record := state.record()) is not None
    ]
    return sorted(found, key=lambda one: (one.begun, one.run_id), reverse=True)


def status_of(workspace: Workspace, run_id: str) -> RunStatus:
    """Return one run by its name."""
    state = state_of(workspace, run_id)
    record = state.record()
    if record is None or not state.exists:
        raise _unknown(workspace, run_id)
    return _status(state, record)


def cancel(workspace: Workspace, run_id: str, *, delete_output: bool) -> CancelledRun:
    """End a run for good: its tags, its plan and position and, if asked, its output."""
    refuse_newer(workspace.state_dir)
    state = state_of(workspace, run_id)
    record = state.record()
    if record is None:
        raise _unknown(workspace, run_id)
    kind, _, place = record.to.partition(":")
    if delete_output and record.staged is None and (kind != "jsonl" or record.app is not None):
        raise UsageError(
            f"headrace cannot tell the rows of {run_id} from other rows in {record.to}",
            "remove them by hand; without --delete-output the run can be cancelled",
        )
    # An open lock file survives the removal of its folder.
    with hold(
        state.lock, f"replay {run_id}", "stop it first with Ctrl-C or SIGTERM, or with --stop"
    ):
        removed = tags.release_all(workspace, state, run_id)
        if delete_output and record.staged is not None:
            place = record.staged
            drop_table(workspace, place)
        elif delete_output:
            JsonlFolder(Path(place), resume=True).remove()
        if (record.sink or {}).get("mode") == "replace":
            # A publication that was killed has left it.
            drop_branch(workspace, record.to.partition(":")[2], run_id)
        state_files.remove_folder(state.folder)
    return CancelledRun(run_id, tuple(removed), place if delete_output else None)


def as_text(run: RunStatus) -> str:
    """Write a run for a person."""
    what = Path(run.app).name if run.app else ", ".join(run.tables)
    share = 100 * run.steps_done // max(1, run.steps)
    lines = [
        (
            f"{run.run_id}  {run.stage}  {run.steps_done:,} of {run.steps:,} steps ({share} %),"
            f" {run.rows_planned:,} rows planned"
        ),
        f"  {what} → {run.to}, begun {run.begun}",
    ]
    if run.staged is not None:
        lines.append(f"  staged in {run.staged} until backfill publish {run.run_id}")
    if run.stage == "stopped":
        lines.append(f"  continue: backfill replay --resume --run-id {run.run_id}")
    return "\n".join(lines)


def _status(state: RunState, record: RunRecord) -> RunStatus:
    done = state.position().steps_done if record.app is None else state.committed()[0]
    return RunStatus(
        state.run_id,
        _stage(state),
        done,
        record.steps,
        record.rows,
        record.begun,
        record.tables,
        record.app,
        record.to,
        None if record.publish or record.published is not None else record.staged,
    )


def _stage(state: RunState) -> RunStage:
    if state.certificate.exists():
        return "complete"
    return "running" if is_held(state.lock) else "stopped"


def _unknown(workspace: Workspace, run_id: str) -> UsageError:
    known = ", ".join(run.run_id for run in runs_of(workspace)[:5]) or "none"
    return UsageError(f"there is no run {run_id}", f"the latest runs: {known}")
