"""What a record of the ledger says: each stands for all before, and names what was lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import Terminal
from headrace.state_version import WrittenByNewer
from router.ledger.entries import BEGINNING, Counts, LedgerStretch, by_partition, flaws
from router.ledger.places import (
    LedgerDamaged,
    Place,
    ReadTopic,
    entries_of,
    place_key,
    place_value,
    read_place,
)

AT = "2026-03-01T00:00:00.000Z"
TOPIC = ReadTopic("fronting", "raw", "an id")


def read(start: int, end: int, lost: int = 0, replaced: int = 0) -> LedgerStretch:
    count = end - start - lost
    return LedgerStretch(start, end, Counts(count, written=count), lost, replaced)


def run(*stretches: LedgerStretch) -> list[Place]:
    """Return the places of one partition, batch by batch."""
    first = stretches[0].start
    places = [Place.beginning(AT, read(first, first))]
    for batch, stretch in enumerate(stretches):
        places.append(places[-1].following(batch, AT, stretch))
    return places


def shown(places: list[Place]) -> list[LedgerStretch]:
    return by_partition(entries_of(0, places)).get(0, [])


def test_what_was_written_is_read_again() -> None:
    counts = Counts(5, 2, 1, {"nulls": 1}, 1)
    place = Place(3, AT, LedgerStretch(10, 17, counts, 2, 0, epoch=4), (read(0, 10),))
    value = place_value(TOPIC, 0, place)
    assert read_place("@ 7", value.encode()) == (TOPIC, place)
    assert json.loads(place_key("out", "an id", 3)) == ["place", "out", "an id", 3]


def test_the_last_record_alone_says_all() -> None:
    places = run(read(0, 10), read(10, 13), read(13, 20, lost=2), read(20, 25))
    entries = entries_of(0, places[-1:])
    assert flaws(entries) == []
    assert [(one.start, one.end_exclusive, one.lost) for one in shown(places[-1:])] == [
        (0, 13, 0),
        (13, 20, 2),
        (20, 25, 0),
    ]
    assert places[-1].whole == (read(0, 13), read(13, 25, lost=2))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=1), st.data())
def test_whatever_compaction_takes_the_sums_stay(
    batches: list[tuple[int, int]], data: st.DataObject
) -> None:
    at, stretches = 0, []
    for width, lost in batches:
        stretches.append(read(at, at + width + lost, lost=lost))
        at += width + lost
    places = run(*stretches)
    kept = [one for one in places[:-1] if data.draw(st.booleans())] + places[-1:]
    found = shown(kept)
    assert flaws(entries_of(0, kept)) == []
    assert found[0].start == 0
    assert found[-1].end_exclusive == at
    assert sum(one.counts.read for one in found) == sum(width for width, _ in batches)
    # Lost offsets are named, and not only counted.
    lost_at = {n for one in found for n in range(one.start, one.start + one.lost)}
    assert lost_at == {n for one in stretches for n in range(one.start, one.start + one.lost)}


def test_a_place_that_was_written_by_two_is_told() -> None:
    places = run(read(0, 10), read(10, 13))
    again = places[1].following(1, AT, read(10, 15))
    assert [one.message for one in flaws(entries_of(0, [*places, again]))] == ["twice: @ 10 to 12"]
    hole = Place(1, AT, read(13, 18), (read(0, 10),))
    assert [one.message for one in flaws(entries_of(0, [hole]))] == ["missing: @ 10 to 12"]


def test_a_batch_that_does_not_add_up_is_not_written() -> None:
    place = Place(BEGINNING + 1, AT, LedgerStretch(0, 5, Counts(5, written=4)))
    with pytest.raises(Terminal, match="read 5 records, but accounts for only 4"):
        place_value(TOPIC, 0, place)
    with pytest.raises(Terminal, match="has more records than offsets"):
        place_value(TOPIC, 0, place.counted(Counts(6, written=6)))


@pytest.mark.parametrize("value", [b"", b"[]", b"{", b'{"version": 1}', b"\xff"])
def test_damage_is_named_with_its_record(value: bytes) -> None:
    with pytest.raises(LedgerDamaged, match="the ledger's record @ 7 is damaged"):
        read_place("@ 7", value)


def test_a_later_version_is_not_guessed_at() -> None:
    value = place_value(TOPIC, 0, run(read(0, 1))[-1]).replace('"version":1', '"version":9')
    with pytest.raises(
        WrittenByNewer, match="it has version 9, and this one reads versions up to 1"
    ):
        read_place("@ 7", value.encode())
