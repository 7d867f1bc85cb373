"""Which commits of a writer can be taken back, on tables that several have committed to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.landing.commit_state import CommitState, Identity, SnapshotState, Span
from headrace.landing.taking_out import Back, NothingSince, Tied, taken_back

OWN, OTHER = "counts.0c8e4b69", "another"


def state(writer: str, snapshot: int, span: Span) -> CommitState:
    return CommitState(Identity(writer, "q", "host", 1, "now"), snapshot, {0: span})


def table(commits: list[tuple[str, int]]) -> tuple[list[SnapshotState], CommitState | None]:
    """Make a table's line of commits, oldest first: who, and after how many idle batches."""
    line: list[SnapshotState] = []
    following, first, holds = 0, None, None
    for snapshot, (writer, idle) in enumerate(commits):
        said = None
        if writer == OWN:
            number = following + idle
            first = number if first is None else first
            start = following if holds else number
            said = holds = state(OWN, snapshot, Span(first, start, number + 1))
            following = number + 1
        elif writer == OTHER:
            said = state(OTHER, snapshot, Span(0, 0, 1))
        parent = snapshot - 1 if snapshot else None
        line.insert(
            0, SnapshotState(snapshot, None if said is None else said.to_json(), parent, writer)
        )
    return line, holds


COMMITS = st.lists(
    st.tuples(st.sampled_from([OWN, OWN, OWN, OTHER, "maintenance"]), st.integers(0, 2)),
    max_size=12,
)


@given(commits=COMMITS, number=st.integers(0, 15), gone=st.integers(0, 3))
def test_a_table_goes_back_where_everything_since_is_the_writers_own(
    commits: list[tuple[str, int]], number: int, gone: int
) -> None:
    line, holds = table(commits)
    known = line[: len(line) - gone] if gone else line
    found = taken_back(OWN, number, holds, known)
    numbers = {
        one.snapshot: CommitState.from_json(one.state).next_offsets[0] - 1
        for one in line
        if one.state and CommitState.from_json(one.state).identity.writer == OWN
    }
    since = [snapshot for snapshot, of in numbers.items() if of >= number]
    if not since:
        assert found == NothingSince()
        return
    oldest = min(since)
    tied = any(one.snapshot > oldest and one.snapshot not in numbers for one in line)
    held = {one.snapshot for one in known}
    tied |= oldest not in held or (oldest > 0 and oldest - 1 not in held)
    if tied:
        assert isinstance(found, Tied)
        assert found.state.next_offsets == {0: number}
        return
    assert isinstance(found, Back)
    assert (found.snapshot, found.commits) == (oldest - 1 if oldest else None, len(since))
    kept = [of for snapshot, of in numbers.items() if snapshot < oldest and snapshot in held]
    assert (found.state and found.state.next_offsets[0] - 1) == (max(kept) if kept else None)
