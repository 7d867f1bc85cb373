"""From the snapshot that was seen last to the one that is there now: what was added on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from backfill.follow.place import Hop
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OnOverwrite = Literal["fail", "skip"]


@dataclass(frozen=True, slots=True)
class Commit:
    """A snapshot of the main line: the one it was made from (None: no longer known), and how."""

    snapshot: int
    parent: int | None
    operation: str


@dataclass(frozen=True, slots=True)
class Way:
    """How a table is followed: what to do with what it meets.

    `loses` says whether a snapshot lacks a file that another has; `is_behind` whether all that a
    commit has taken away was dispatched before, and nothing put in its place.
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
                f"the snapshots of {self.table} after {seen}, up to which it was followed, were"
                f" expired up to {commit.snapshot}, and files were rewritten or removed among them:"
                " which rows are new cannot be told",
                "begin anew under another name, with follow: {start: …} at the time that was reached;"
                " keep snapshots for longer than the application is down",
            )

    def _refuse_overwrite(self, commit: Commit) -> None:
        if commit.operation == "replace" or self.on_overwrite == "skip":
            return
        if not self.is_behind(commit):
            raise Terminal(
                f"snapshot {commit.snapshot} of {self.table} is of kind {commit.operation}: it changed"
                " rows that were there, and a stream can only add",
                "follow: {on_overwrite: skip} goes on behind it: what it changed is delivered as it is"
                " now where that was not delivered before, and not at all where it was",
            )
