"""How far a query that follows tables is: the offset in Spark's log, and all that a restart needs.

A position says by two times and some snapshots which rows are dispatched. The tables were last looked
at when all older than `base_us` of their snapshots before was dispatched. Since then `hops` lead
to the snapshots that they have now: what was added on them comes late where it is older than
`base_us`, and goes first. Rows of the files that were added, older than `base_us` and than
`until_us`, are dispatched; and so are all rows of the snapshots older than both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Hop(NamedTuple):
    """Two snapshots with nothing but additions between them; None is a table without any."""

    before: int | None
    after: int


@dataclass(frozen=True, slots=True)
class FollowedSnapshot:
    """A table at its snapshot, and the hops that led there from the one before."""

    snapshot: int | None
    hops: tuple[Hop, ...] = ()

    @property
    def needed(self) -> set[int]:
        """The snapshots without which the batch cannot be read, or read again."""
        found = {one for hop in self.hops for one in hop if one is not None}
        return found if self.snapshot is None else {*found, self.snapshot}


@dataclass(frozen=True, slots=True)
class FollowPosition:
    """A position in all tables of a query together. Nothing older than `since_us` is ever read.

    `number` counts positions, `look` how often news were found. `reached_us` is the end of what was
    ever dispatched; `late_rows` counts the rows that were committed later than the bound allows,
    `null_times` those without a time, which are left out.
    """

    number: int
    look: int
    since_us: int
    base_us: int
    until_us: int
    tables: dict[str, FollowedSnapshot]
    reached_us: int | None = None
    newest_us: int | None = None
    late_rows: int = 0
    null_times: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether nothing that came late is left to dispatch."""
        return self.until_us >= self.base_us

    def to_json(self) -> dict[str, Any]:
        """Return the offset; the same position always gives the same text."""
        said: dict[str, Any] = msgspec.to_builtins(self, order="deterministic")
        return said

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> FollowPosition:
        """Read an offset."""
        return msgspec.convert(said, cls)


def beginning(
    start_us: int, snapshots: Mapping[str, int | None], *, since_us: int, null_times: int = 0
) -> FollowPosition:
    """Return where to begin: nothing older than the start is to be read of what is there now."""
    tables = {name: FollowedSnapshot(snapshot) for name, snapshot in snapshots.items()}
    return FollowPosition(0, 0, since_us, start_us, start_us, tables, null_times=null_times)


OnOverwrite = Literal["fail", "skip"]


@dataclass(frozen=True, slots=True)
class Commit:
    """A snapshot of the main line: the one it was made from (None: no longer known), and how."""

    snapshot: int
    parent: int | None
    operation: str


@dataclass(frozen=True, slots=True)
class CommitRules:
    """How a table is followed: what to do with what it meets.

    `loses` says whether a snapshot lacks a file that another has; `is_behind` whether all that a
    commit has taken away was dispatched before, and nothing put there instead.
    """

    table: str
    on_overwrite: OnOverwrite
    loses: Callable[[int | None, int], bool]
    is_behind: Callable[[Commit], bool]

    def hops(self, seen: int | None, line: Sequence[Commit]) -> tuple[Hop, ...]:
        """Return the hops over the commits since, the oldest first.

        A commit that rewrites files ends a hop, and the next begins after it: it adds no row.
        """
        found: list[Hop] = []
        begun = at = seen
        for number, commit in enumerate(line):
            if number == 0 and (seen is None or commit.parent != seen):
                self._refuse_what_is_hidden(seen, commit)
            elif commit.operation != "append":
                self._refuse_overwrite(commit)
                if at is not None and at != begun:
                    found.append(Hop(begun, at))
                begun = commit.snapshot
            at = commit.snapshot
        if at is not None and at != begun:
            found.append(Hop(begun, at))
        return tuple(found)

    def _refuse_what_is_hidden(self, seen: int | None, commit: Commit) -> None:
        """Refuse a gap in the line that a rewrite may lie in.

        Where no file went, all that is new was added, however often it was rewritten since.
        """
        if self.loses(seen, commit.snapshot):
            raise Terminal(
                f"the application has read {self.table} up to snapshot {seen}; the snapshots from "
                f"there to {commit.snapshot} have expired, and files were rewritten or removed in "
                "them, so headrace cannot tell which rows are new",
                "start over under another name, with follow: {start: …} set to the time that was "
                "reached; keep snapshots longer than the application may be down",
            )

    def _refuse_overwrite(self, commit: Commit) -> None:
        if commit.operation == "replace" or self.on_overwrite == "skip":
            return
        if not self.is_behind(commit):
            raise Terminal(
                f"snapshot {commit.snapshot} of {self.table} ({commit.operation}) changed "
                "existing rows; a stream can only add rows",
                "follow: {on_overwrite: skip} continues after it: changed rows that were not "
                "delivered before are delivered as they are now; the others are not delivered "
                "again",
            )
