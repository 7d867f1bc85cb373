"""What a replay is refused for before it begins: what is there already, and options without a use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill.results.runs import runs_of
from backfill.run.request import held_by
from headrace.errors import UsageError
from headrace.locks import hold

if TYPE_CHECKING:
    from pathlib import Path

    from backfill.command.start import ReplayOptions
    from backfill.run.state import RunState
    from headrace.config.workspace.workspace import Workspace


def refuse_existing(state: RunState) -> None:
    """Refuse a name that another run has; one that still runs is not to be gone on with."""
    if state.exists:
        with hold(state.lock, *held_by(state.run_id)):
            state.refuse_existing()


def refuse_begun(workspace: Workspace, folder: Path) -> None:
    """Refuse a folder that holds what a run has written so far, and say which."""
    location = f"jsonl:{folder.absolute()}"
    for one in runs_of(workspace):
        if one.to == location and one.stage != "complete" and one.steps_done:
            raise UsageError(
                f"{folder} has the files that run {one.run_id} has written so far",
                f"continue it: backfill replay --resume --run-id {one.run_id}",
            )


def refuse_kafka_options(options: ReplayOptions, advice: str) -> None:
    """Refuse options that are for records of a topic, where there is none."""
    given = {"--format": options["value_format"], "--registry": options["registry"]}
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} is for records of a topic", advice)
