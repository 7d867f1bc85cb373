"""Places in topics: batches of a bounded size, and how they are shared out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.application.live_source import refuse_what_is_gone
from headrace.application.places import (
    Places,
    Stretch,
    capped,
    epochs_from_json,
    from_json,
    shared_out,
    stretches,
    to_json,
    within,
)
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

OFFSETS = st.integers(0, 200)
PLACES = st.dictionaries(
    st.sampled_from(["a", "b"]), st.dictionaries(st.integers(0, 5), OFFSETS, min_size=1)
)


def offsets(found: Iterable[Stretch]) -> set[tuple[str, int, int]]:
    return {(one.topic, one.partition, at) for one in found for at in range(one.start, one.end)}


@given(PLACES)
def test_places_go_through_json_and_equal_ones_are_one_text(places: Places) -> None:
    assert from_json(to_json(places)) == places
    turned = {topic: dict(reversed(of.items())) for topic, of in reversed(places.items())}
    assert str(to_json(turned)) == str(to_json(places))


@given(PLACES, PLACES)
def test_epochs_go_along_with_places(places: Places, known: Places) -> None:
    said = to_json(places, known)
    assert from_json(said) == places
    assert epochs_from_json(said) == {
        topic: {number: known[topic][number] for number in of if number in known.get(topic, {})}
        for topic, of in places.items()
    }


@given(PLACES, PLACES, st.integers(1, 500))
def test_batches_of_a_bounded_size_reach_the_end_and_read_everything_once(
    start: Places, end: Places, most: int
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
def test_nothing_is_read_beyond_where_it_is_to_end(places: Places, until: Places) -> None:
    ends = within(places, until)
    for topic, of in ends.items():
        for number, offset in of.items():
            assert offset == min(places[topic][number], until[topic][number])
    assert within(places, None) == places


@given(PLACES, st.integers(1, 8))
def test_a_partition_is_one_tasks_and_no_task_is_idle(end: Places, tasks: int) -> None:
    whole = stretches({}, end)
    parts = shared_out(whole, tasks)
    assert sorted(one for part in parts for one in part) == sorted(whole)
    assert all(parts)
    assert len(parts) == min(tasks, len(whole))


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        ({"t": {0: range(6, 9)}}, r"was to go on at t-0 @ 5.*begins at 6: 1 offsets are gone"),
        ({"t": {0: range(4)}}, "the topic ends before that"),
        ({"t": {}}, "the topic ends before that"),
    ],
)
def test_what_is_gone_is_told(held: dict[str, dict[int, range]], sentence: str) -> None:
    with pytest.raises(Terminal, match=sentence):
        refuse_what_is_gone("app.live", {"t": {0: 5}}, held)
    refuse_what_is_gone("app.live", {"t": {0: 5}}, {"t": {0: range(5, 5)}})
