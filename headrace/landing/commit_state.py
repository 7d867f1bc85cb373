"""What a table holds, by its own commits: how far each partition of the topic has come.

A commit state stands twice in every commit. As a property of the table it is found at once,
whatever snapshots were expired or made by others since; in the summary of the snapshot it goes
where the snapshot goes, when somebody rolls the table back.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal
from headrace.state_version import WrittenByNewer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERSION: Final = 1
SUMMARY: Final = "headrace.commit"
# Beside it: how long the batch took until its commit, for people.
BATCH_MS: Final = "headrace.batch-ms"
# In the commit state of a writer that has begun and committed nothing yet.
NO_SNAPSHOT: Final = -1


def state_property(writer: str) -> str:
    """Return the name of the table's property that holds a writer's commit state."""
    return f"headrace.writer.{writer}"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who lands what: a config's name and its topic, and the process that works for it.

    `topic_id` is the cluster's own: a topic that was re-created has another. Empty, it is not known.
    """

    writer: str
    topic: str
    host: str
    pid: int
    started: str
    topic_id: str = ""

    @classmethod
    def of_this_process(cls, writer: str, topic: str) -> Identity:
        """Return who this process is, from now on."""
        started = datetime.now(tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return cls(writer, topic, socket.gethostname(), os.getpid(), started)

    @property
    def is_of_this_host(self) -> bool:
        """Whether it ran on the machine that asks."""
        return self.host == socket.gethostname()

    def __str__(self) -> str:
        return f"{self.writer} on {self.host} (pid {self.pid}, started {self.started})"


@dataclass(frozen=True, slots=True)
class Span:
    """One partition: where the writer began, where the last commit began, what comes next.

    `epoch` is that of a leader whose log had all before `next`, -1 where it is not known.
    """

    since: int
    start: int
    next: int
    epoch: int = -1


@dataclass(frozen=True, slots=True)
class CommitState:
    """The last commit of a writer, and all that it has landed by then."""

    identity: Identity
    snapshot: int
    spans: Mapping[int, Span]

    @property
    def next_offsets(self) -> dict[int, int]:
        """Return the first offset of each partition that the table does not have."""
        return {partition: span.next for partition, span in self.spans.items()}

    def to_json(self) -> str:
        """Return the commit state as the table keeps it."""
        spans = {
            str(partition): [
                span.since,
                span.start,
                span.next,
                *([span.epoch] if span.epoch >= 0 else []),
            ]
            for partition, span in sorted(self.spans.items())
        }
        who = asdict(self.identity)
        if not self.identity.topic_id:
            del who["topic_id"]
        said = {
            "v": VERSION,
            **who,
            "snapshot": self.snapshot,
            "offsets": spans,
        }
        return json.dumps(said, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> CommitState:
        """Read a commit state; one that is not ours is an error: nobody can go on from it."""
        try:
            said: dict[str, Any] = json.loads(text)
            version = int(said["v"])
            if version > VERSION:
                raise WrittenByNewer("the commit state of the writer", version, VERSION)
            said.setdefault("topic_id", "")
            identity = Identity(**{name: said[name] for name in Identity.__slots__})
            spans = {int(number): Span(*span) for number, span in said["offsets"].items()}
            return cls(identity, said["snapshot"], spans)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Terminal(
                f"the commit state of the writer cannot be read: {text[:200]}",
                "restore the table's property from the summary of the writer's last snapshot",
            ) from None


def next_state(  # noqa: PLR0913, PLR0917 - what was before, whose it is, and how far it comes
    before: CommitState | None,
    identity: Identity,
    snapshot: int,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    epochs: Mapping[int, int] | None = None,
) -> CommitState:
    """Return the commit state of the next commit: it begins where the last one ended.

    `starts` says where a partition begins that has none yet, `epochs` which leaders are known
    to have had all up to the ends.
    """
    held = {} if before is None else before.spans
    spans = {}
    for partition in held.keys() | ends.keys():
        known = held.get(partition)
        start = starts[partition] if known is None else known.next
        since = start if known is None else known.since
        following_at = max(start, ends.get(partition, start))
        spans[partition] = Span(since, start, following_at, (epochs or {}).get(partition, -1))
    return CommitState(identity, snapshot, spans)


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """A snapshot of the table's main line, and the commit state in its summary.

    `made_by` says who made it, in words.
    """

    snapshot: int
    state: str | None
    parent: int | None = None
    made_by: str = "a commit"


def current_state(
    writer: str, said: str | None, main_line: Iterable[SnapshotState], known: Iterable[int]
) -> CommitState | None:
    """Return the commit state that holds for the table as it is; None where the writer has none.

    The property's state holds, unless its snapshot is there and no longer behind the head: then
    somebody rolled the table back, and the newest state that is behind the head holds.
    """
    if said is None:
        return None
    newest = CommitState.from_json(said)
    older = None
    for one in main_line:
        if one.snapshot == newest.snapshot:
            return newest
        if older is None and one.state is not None:
            state = CommitState.from_json(one.state)
            older = state if state.identity.writer == writer else None
    if newest.snapshot not in set(known):
        # Expired, with others on top of it.
        return newest
    if older is None:
        raise Terminal(
            f"the table was rolled back to before the first commit of {newest.identity} that its "
            "snapshots show",
            f"roll it forward again, or remove the table's property {state_property(writer)} to "
            "land the topic again from its beginning",
        )
    return older
