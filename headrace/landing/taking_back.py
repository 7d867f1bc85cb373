"""Which of a writer's commits can be taken back: the last ones, with nobody else's on top of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.landing.marks import Mark, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

# The one sequence that a writer without partitions counts.
_ONLY: Final = 0


@dataclass(frozen=True, slots=True)
class Line:
    """A snapshot of the table's main line, the head first; `made_by` says who made it, in words."""

    snapshot: int
    parent: int | None
    mark: str | None
    made_by: str


@dataclass(frozen=True, slots=True)
class NothingSince:
    """The table has no commit of the writer from that number on."""


@dataclass(frozen=True, slots=True)
class Back:
    """The table goes back to a snapshot over `commits` of the writer; None: to no rows at all.

    `mark` is the one that holds there, None where the writer has landed nothing by then.
    """

    snapshot: int | None
    commits: int
    mark: Mark | None


@dataclass(frozen=True, slots=True)
class Tied:
    """The writer's commits cannot be taken back, and why; `mark` holds where they are left there."""

    reason: str
    mark: Mark


Taken: TypeAlias = NothingSince | Back | Tied


def taken_back(writer: str, number: int, standing: Mark | None, line: Sequence[Line]) -> Taken:
    """Return how the writer's commits from that number on can be taken from the table again.

    `standing` is the mark that holds for the table.
    """
    if standing is None or _next(standing) <= number:
        return NothingSince()
    others: list[Line] = []
    last: tuple[Line, Mark] | None = None
    before: Mark | None = None
    commits, below = 0, list[Line]()
    for one in line:
        mark = None if one.mark is None else Mark.from_json(one.mark)
        if mark is None or mark.identity.writer != writer:
            below.append(one)
            continue
        if _next(mark) <= number:
            before = mark
            break
        others += below
        last, commits, below = (one, mark), commits + 1, []
    span = standing.spans[_ONLY] if last is None else last[1].spans[_ONLY]
    head = line[0].snapshot if line else standing.snapshot
    left = replace(standing, snapshot=head, spans={_ONLY: Span(span.since, number, number)})
    # One that is not the writer's first says where the one before it ended.
    if last is None or span.since < span.start > number:
        return Tied("the snapshots of its commits have expired", left)
    if last[0].parent is not None and all(one.snapshot != last[0].parent for one in line):
        return Tied("the snapshot before its commits has expired", left)
    if others:
        return Tied(f"after them came {others[0].made_by}, snapshot {others[0].snapshot}", left)
    return Back(last[0].parent, commits, before)


def _next(mark: Mark) -> int:
    return mark.spans[_ONLY].next
