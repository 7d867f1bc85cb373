"""Taking a job back: the batch is chosen and checked, what it comes to is said, then it is done."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.errors import UsageError
from headrace.kafka.positions import from_json, to_json
from headrace.locks import hold
from headrace.problems import counted
from headrace.queries.checkpoint import batches_in
from headrace.state_version import refuse_newer
from headrace.times import format_time_us
from stream_app.follow.tags import holder_of
from stream_app.rewind import cut, results
from stream_app.rewind.batches import choose_batch, describe_offset
from stream_app.rewind.history import history_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from stream_app.rewind.batches import Batch
    from stream_app.rewind.history import RewindHistory


@dataclass(frozen=True, slots=True)
class RewindOptions:
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


def can_go_back_to(app: LoadedApp, workspace: Workspace) -> RewindHistory:
    """Return the batches of an application, which may be running."""
    state = state_of_app(app, workspace)
    refuse_newer(workspace.state_dir)
    if (state / cut.READY).exists():
        with _held(app, state):
            cut.finish(state, workspace)
    return history_of(app, workspace, state)


def rewind(
    app: LoadedApp, workspace: Workspace, options: RewindOptions, say: Callable[[Rewind], None]
) -> Rewind | None:
    """Take an application back; what it comes to is said before it is done.

    None where the application is at that batch already.
    """
    state = state_of_app(app, workspace)
    refuse_newer(workspace.state_dir)
    checkpoint = state / cut.CHECKPOINT
    with _held(app, state):
        cut.finish(state, workspace)
        history = history_of(app, workspace, state)
        batch = choose_batch(history.batches, options.to)
        later = [one for one in batches_in(checkpoint / "offsets") if one > batch.number]
        if not later:
            return None
        change = results.change_of(
            workspace, app.config.sink, app.config.name, checkpoint, leave=options.leave_duplicates
        )
        described = results.describe(workspace, app.config.sink, change, batch.number)
        aside = f"before-rewind-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
        found = Rewind(batch, len(later), described, state / aside)
        say(found)
        if not options.only_say:
            history.hold(batch, holder_of(app.config.name, checkpoint))
            cut.prepare(state, cut.Cut(batch.number, aside, change))
            cut.finish(state, workspace)
        return found


def state_of_app(app: LoadedApp, workspace: Workspace) -> Path:
    """Return where an application keeps its state, with its checkpoint."""
    if workspace.checkpoint_dir is not None:
        raise UsageError(
            f"the checkpoint of application {app.config.name} lies in {workspace.checkpoint_dir}, "
            "and only one in state_dir can be taken back",
            "start over with another name in the file; or land the topics, and replay them",
        )
    return workspace.state_dir / "app" / app.config.name


def _held(app: LoadedApp, state: Path) -> AbstractContextManager[object]:
    return hold(state / "lock", f"application {app.config.name}", "stop that one first")


def list_text(name: str, batches: Sequence[Batch]) -> str:
    """Return the batches as a table."""
    width = max(len("batch"), *(len(str(one.number)) for one in batches))
    lines = [f"application {name}", f"  {'batch':>{width}}  {'began':<27}  read up to"]
    for one in batches:
        where = f"cannot rewind to it: {one.obstacle}" if one.obstacle else _where(one)
        lines.append(f"  {one.number:>{width}}  {format_time_us(one.began_us)}  {where}")
    return "\n".join(lines)


def list_json(name: str, batches: Sequence[Batch]) -> str:
    """Return the same for a pipeline."""
    return json.dumps({"application": name, "batches": [_facts(one) for one in batches]})


def rewind_text(name: str, found: Rewind) -> str:
    """Return what going back comes to, line by line."""
    many = counted(found.later, "batch", "batches")
    return (
        f"application {name} rewinds to {found.batch}: {many} after it removed\n"
        f"  read up to {_where(found.batch)}\n"
        f"  {found.results}"
    )


def rewind_json(name: str, found: Rewind, *, done: bool) -> str:
    """Return the same for a pipeline."""
    facts = {"application": name, "done": done, **_facts(found.batch), "batches_cut": found.later}
    return json.dumps({**facts, "results": found.results, "kept_in": str(found.kept)})


def _where(batch: Batch) -> str:
    # Sources that follow tables have one offset in common.
    return "; ".join(dict.fromkeys(map(describe_offset, batch.offsets))) or "nothing yet"


def _facts(batch: Batch) -> dict[str, object]:
    return {
        "batch": batch.number,
        "began": format_time_us(batch.began_us),
        "sources": [_shown_offset(one) for one in batch.offsets],
        "obstacle": batch.obstacle,
    }


def _shown_offset(offset: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a source's offset in Spark's log, of topics the offsets alone."""
    if "tables" in offset:
        return offset
    if "past" in offset:
        return {**offset, "live": to_json(from_json(offset["live"]))}
    return to_json(from_json(offset))
