"""Taking a writer's last commits out of a table again, or letting their rows stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.errors import Terminal, Transient
from headrace.iceberg.append import HeadMoved, NoAnswer, change_property, roll_back
from headrace.landing.commit_state import CommitState, SnapshotState, Span, state_property
from headrace.landing.commits import snapshot_states, state_in
from headrace.retries import retry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyiceberg.table import Table

ATTEMPTS: Final = 5
FIRST_WAIT_S: Final = 0.2
# The one sequence that a writer without partitions counts.
_ONLY: Final = 0


def commits_since(table: Table, writer: str, number: int) -> Taken:
    """Return what would take the writer's commits from that number on out of the table."""
    return taken_back(writer, number, state_in(table, writer), list(snapshot_states(table)))


def take_out(
    load: Callable[[], Table], name: str, writer: str, number: int, *, leave: bool
) -> None:
    """Take the writer's commits from that number on out of the table, in one commit of it.

    Where that cannot be done, `leave` lets their rows stay. The writer goes on with that number.
    """

    def once() -> None:
        table = load()
        taken = commits_since(table, writer, number)
        if isinstance(taken, NothingSince):
            return
        if isinstance(taken, Tied) and not leave:
            raise tied(name, taken)
        said = None if taken.state is None else taken.state.to_json()
        if isinstance(taken, Tied):
            change_property(table, state_property(writer), said)
        else:
            roll_back(table, taken.snapshot, state_property(writer), said)

    try:
        retry(once, HeadMoved, ATTEMPTS, FIRST_WAIT_S)
    except HeadMoved as problem:
        raise Terminal(
            f"other jobs committed to {name} during each of {ATTEMPTS} attempts",
            "nothing was changed; try again when fewer jobs commit to it",
        ) from problem
    except NoAnswer as problem:
        raise Transient(
            f"the catalog did not answer about {name}: {problem}",
            "start it again when the catalog answers: it first finishes what it has begun",
        ) from problem


def tied(name: str, taken: Tied) -> Terminal:
    """Return why the rows of later batches cannot be removed from a table."""
    return Terminal(
        f"the rows of later batches cannot be removed from {name}: {taken.reason}",
        "nothing was changed. --allow-duplicates leaves them in the table, and the next run adds "
        "them once more; or replace the period with a backfill (sink.mode: replace)",
    )


@dataclass(frozen=True, slots=True)
class NothingSince:
    """The table has no commit of the writer from that number on."""


@dataclass(frozen=True, slots=True)
class Back:
    """The table goes back to a snapshot over `commits` of the writer; None: to no rows at all.

    `state` is the one that holds there, None where the writer has landed nothing by then.
    """

    snapshot: int | None
    commits: int
    state: CommitState | None


@dataclass(frozen=True, slots=True)
class Tied:
    """The writer's commits cannot be taken back, and why; `state` holds where they are left there."""

    reason: str
    state: CommitState


Taken: TypeAlias = NothingSince | Back | Tied


def taken_back(
    writer: str, number: int, standing: CommitState | None, line: Sequence[SnapshotState]
) -> Taken:
    """Return how the writer's commits from that number on can be taken from the table again.

    `standing` is the commit state that holds for the table, `line` its main line, the head first.
    """
    if standing is None or _next(standing) <= number:
        return NothingSince()
    others: list[SnapshotState] = []
    last: tuple[SnapshotState, CommitState] | None = None
    before: CommitState | None = None
    commits, below = 0, list[SnapshotState]()
    for one in line:
        state = None if one.state is None else CommitState.from_json(one.state)
        if state is None or state.identity.writer != writer:
            below.append(one)
            continue
        if _next(state) <= number:
            before = state
            break
        others += below
        last, commits, below = (one, state), commits + 1, []
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


def _next(state: CommitState) -> int:
    return state.spans[_ONLY].next
