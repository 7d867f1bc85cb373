"""Every offset lands once, whatever is repeated: the arithmetic of the writer's commit states."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import Terminal
from headrace.landing.commit_state import (
    CommitState,
    Identity,
    SnapshotState,
    Span,
    current_state,
    next_state,
)

KNOWN = Identity("w", "topic", "host", 7, "2026-03-01T00:00:00.000Z", "an-id")
ME = Identity("w", "topic", "host", 7, "2026-03-01T00:00:00.000Z")

offsets = st.integers(0, 2**63 - 1)
spans = st.builds(Span, offsets, offsets, offsets, st.integers(-1, 2**31 - 1))
states = st.builds(
    CommitState,
    st.sampled_from([ME, KNOWN]),
    offsets,
    st.dictionaries(st.integers(0, 2**31 - 1), spans),
)


@given(states)
def test_a_mark_is_read_as_it_was_written(state: CommitState) -> None:
    assert CommitState.from_json(state.to_json()) == state


def test_the_epoch_of_a_leader_goes_along_with_its_offset() -> None:
    first = next_state(None, ME, 1, {0: 0, 1: 0}, {0: 5, 1: 5}, {0: 3, 1: 4})
    assert {number: span.epoch for number, span in first.spans.items()} == {0: 3, 1: 4}
    # An epoch that nobody knows is none: the old one was of another offset.
    second = next_state(first, ME, 2, {}, {0: 9, 1: 9}, {0: 4})
    assert {number: span.epoch for number, span in second.spans.items()} == {0: 4, 1: -1}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"v":1}', "null", '{"v":1,"offsets":[]}'])
def test_what_is_no_mark_is_refused(text: str) -> None:
    with pytest.raises(Terminal, match="commit state of the writer cannot be read"):
        CommitState.from_json(text)


@given(st.lists(st.dictionaries(st.integers(0, 3), st.integers(0, 9)), max_size=8), st.data())
def test_commits_tile_each_partition_without_gap_or_overlap(
    growth: list[dict[int, int]], data: st.DataObject
) -> None:
    """Each batch's end is as before or beyond; a stale one may even be behind."""
    begins = {number: data.draw(st.integers(0, 100)) for number in range(4)}
    state, landed = None, Counter[tuple[int, int]]()
    ends: dict[int, int] = {}
    for snapshot, grown in enumerate(growth):
        for number, more in grown.items():
            ends[number] = ends.get(number, begins[number]) + more
        state = next_state(state, ME, snapshot, begins, ends)
        landed.update(
            (number, offset)
            for number, span in state.spans.items()
            for offset in range(span.start, span.next)
        )
    expected = {(n, offset) for n, end in ends.items() for offset in range(begins[n], end)}
    assert landed == Counter(expected)
    if state is not None:
        assert {n: span.since for n, span in state.spans.items()} == {n: begins[n] for n in ends}


def line_of(*told: CommitState | int) -> list[SnapshotState]:
    """Return a main line, the head first; a number is a snapshot of somebody else."""
    return [
        SnapshotState(one, None)
        if isinstance(one, int)
        else SnapshotState(one.snapshot, one.to_json())
        for one in told
    ]


FIRST, SECOND = (CommitState(ME, snapshot, {0: Span(0, 0, snapshot)}) for snapshot in (10, 20))
SAID = SECOND.to_json()


def test_the_property_holds_with_others_on_top() -> None:
    assert current_state("w", SAID, line_of(31, 30, SECOND, FIRST), [10, 20, 30, 31]) == SECOND


def test_the_property_holds_when_its_snapshot_has_expired() -> None:
    assert current_state("w", SAID, line_of(31, 30), [30, 31]) == SECOND
    assert current_state("w", SAID, [], []) == SECOND


def test_after_a_rollback_the_newest_mark_behind_the_head_holds() -> None:
    assert current_state("w", SAID, line_of(40, FIRST), [10, 20, 40]) == FIRST


def test_after_a_rollback_the_mark_of_another_writer_is_none_of_ours() -> None:
    other = CommitState(Identity("other", "topic", "host", 7, ""), 15, {0: Span(0, 0, 99)})
    assert current_state("w", SAID, line_of(40, other, FIRST), [10, 15, 20, 40]) == FIRST


def test_a_table_without_a_mark() -> None:
    assert current_state("w", None, line_of(3), [3]) is None
