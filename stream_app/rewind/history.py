"""What an application can go back to, looked at from all sides before anything changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.config.app import HybridSource
from headrace.errors import Terminal
from stream_app.rewind import cut
from stream_app.rewind.batches import committed_batches
from stream_app.rewind.followed import Followed
from stream_app.rewind.kafka import held_by_topics, judged
from stream_app.rewind.past import Past
from stream_app.rewind.state_files import State
from stream_app.topics import kept_ids, refuse_made_anew, topic_ids, topics_behind

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from stream_app.rewind.batches import Batch


@dataclass(frozen=True, slots=True)
class History:
    """The batches of an application, the newest first, each with what stands in its way."""

    batches: tuple[Batch, ...]
    past: Past | None
    followed: Followed


def history_of(app: LoadedApp, workspace: Workspace, state: Path) -> History:
    """Look at the checkpoint's logs and state, at the topics, and at the tables it began with."""
    checkpoint = state / cut.CHECKPOINT
    found = committed_batches(checkpoint)
    if not found:
        raise Terminal(
            f"application {app.config.name} has no batch behind it in {checkpoint}",
            "is it the right file and workspace? headrace run -c … begins it",
        )
    names = _read_by(app, state)
    sources = topics_behind(app, names)
    refuse_made_anew(kept_ids(checkpoint), topic_ids(workspace, sources))
    held, kept = held_by_topics(workspace, sources), State(checkpoint / "state")
    began = any(isinstance(app.config.sources[name], HybridSource) for name in names)
    past = Past.of(workspace, f"hybrid-{app.config.name}") if began else None
    followed = Followed(workspace)
    known = (followed.judged(judged(_judged(batch, kept), held)) for batch in found)
    judged_all = tuple(one if past is None else past.judged(one) for one in known)
    return History(judged_all, past, followed)


def _judged(batch: Batch, state: State) -> Batch:
    if batch.obstacle is not None:
        return batch
    return replace(batch, obstacle=state.missing(batch.number))


def _read_by(app: LoadedApp, state: Path) -> list[str]:
    """Return the sources that the checkpoint's offsets are of, by their names in the file."""
    begun = cut.sources_begun_with(state)
    for name, candidate in begun.items():
        if candidate not in app.config.sources:
            raise Terminal(
                f"{app.config.name} was begun with {candidate} for {name}, and its file has no such"
                " source any more",
                "put that source back into the file",
            )
    return list(begun.values())
