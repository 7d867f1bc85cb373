"""From the wish to go back to a job that will: chosen, checked, told, then done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from backfill.follow.holding import holder_of
from headrace.locks import hold
from stream_app.rewind import cut, results
from stream_app.rewind.batches import chosen, numbers
from stream_app.rewind.history import history_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from stream_app.rewind.batches import Batch
    from stream_app.rewind.history import History


@dataclass(frozen=True, slots=True)
class Wish:
    """Where to go back to, and how far one may go for it."""

    to: str
    leave_duplicates: bool = False
    only_say: bool = False


@dataclass(frozen=True, slots=True)
class Rewind:
    """What going back comes to: `later` batches are cut, `results` says what becomes of theirs."""

    batch: Batch
    later: int
    results: str
    kept: Path


def can_go_back_to(app: LoadedApp, workspace: Workspace) -> History:
    """Return the batches of an application, which may be running."""
    state = state_of_app(app, workspace)
    if (state / cut.READY).exists():
        with _held(app, state):
            cut.finish(state, workspace)
    return history_of(app, workspace, state)


def rewind(
    app: LoadedApp, workspace: Workspace, wish: Wish, say: Callable[[Rewind], None]
) -> Rewind | None:
    """Take an application back; what it comes to is said before it is done.

    None where the application is at that batch already.
    """
    state = state_of_app(app, workspace)
    checkpoint = state / cut.CHECKPOINT
    with _held(app, state):
        cut.finish(state, workspace)
        history = history_of(app, workspace, state)
        batch = chosen(history.batches, wish.to)
        later = [one for one in numbers(checkpoint / "offsets") if one > batch.number]
        if not later:
            return None
        change = results.change_of(
            workspace, app.config.sink, app.config.name, checkpoint, leave=wish.leave_duplicates
        )
        said = results.told(workspace, app.config.sink, change, batch.number)
        aside = f"before-rewind-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
        found = Rewind(batch, len(later), said, state / aside)
        say(found)
        if not wish.only_say:
            if history.past is not None:
                history.past.hold(batch)
            history.followed.hold(batch, holder_of(app.config.name, checkpoint))
            cut.prepare(state, cut.Cut(batch.number, aside, change))
            cut.finish(state, workspace)
        return found


def state_of_app(app: LoadedApp, workspace: Workspace) -> Path:
    """Return where an application keeps its state."""
    return workspace.state_dir / "app" / app.config.name


def _held(app: LoadedApp, state: Path) -> AbstractContextManager[object]:
    return hold(state / "lock", f"application {app.config.name}", "stop that one first")
