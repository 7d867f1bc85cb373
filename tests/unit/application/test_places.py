"""Positions in topics: batches of a bounded size, and how they are shared out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from headrace.kafka.positions import (
    Positions,
    TopicRange,
    capped,
    epochs_from_json,
    from_json,
    shared_out,
    stretches,
    to_json,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

OFFSETS = st.integers(0, 200)
PLACES = st.dictionaries(
    st.sampled_from(["a", "b"]), st.dictionaries(st.integers(0, 5), OFFSETS, min_size=1)
)


def offsets(found: Iterable[TopicRange]) -> set[tuple[str, int, int]]:
    return {(one.topic, one.partition, at) for one in found for at in range(one.start, one.end)}


@given(PLACES)
def test_places_go_through_json_and_equal_ones_are_one_text(positions: Positions) -> None:
    assert from_json(to_json(positions)) == positions
    turned = {topic: dict(reversed(of.items())) for topic, of in reversed(positions.items())}
    assert str(to_json(turned)) == str(to_json(positions))


@given(PLACES, PLACES)
def test_epochs_go_along_with_places(positions: Positions, known: Positions) -> None:
    said = to_json(positions, known)
    assert from_json(said) == positions
    assert epochs_from_json(said) == {
        topic: {number: known[topic][number] for number in of if number in known.get(topic, {})}
        for topic, of in positions.items()
    }


@given(PLACES, PLACES, st.integers(1, 500))
def test_batches_of_a_bounded_size_reach_the_end_and_read_everything_once(
    start: Positions, end: Positions, most: int
) -> None:
    wanted = offsets(stretches(start, end))
    at, seen = start, set[tuple[str, int, int]]()
    batches = 0
    while missing := stretches(at, end):
        to = capped(at, end, most)
        found = offsets(stretches(at, to))
        partitions = sum(map(len, end.values()))
        assert 0 < len(found) <= most + partitions
        assert not seen & found
        seen |= found
        at, batches = to, batches + 1
        assert batches <= 1 + sum(map(len, missing)) + len(seen)
    assert seen == wanted


@given(PLACES, PLACES)
def test_nothing_is_read_beyond_where_it_is_to_end(positions: Positions, until: Positions) -> None:
    ends = within(positions, until)
    for topic, of in ends.items():
        for number, offset in of.items():
            assert offset == min(positions[topic][number], until[topic][number])
    assert within(positions, None) == positions


@given(PLACES, st.integers(1, 8))
def test_a_partition_is_one_tasks_and_no_task_is_idle(end: Positions, tasks: int) -> None:
    whole = stretches({}, end)
    parts = shared_out(whole, tasks)
    assert sorted(one for part in parts for one in part) == sorted(whole)
    assert all(parts)
    assert len(parts) == min(tasks, len(whole))
    loads = [sum(map(len, part)) for part in parts]
    # No task has more than another by more than the widest range.
    assert not loads or max(loads) - min(loads) <= max(map(len, whole))
