from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from router.ledger.entries import (
    Counts,
    Flaw,
    LedgerEntry,
    LedgerStretch,
    checked,
    flaws,
)

numbers = st.integers(0, 50)
counts = st.builds(
    lambda written, filtered, dropped, quarantined: Counts(
        written + filtered + sum(dropped.values()) + quarantined,
        written,
        filtered,
        dropped,
        quarantined,
    ),
    numbers,
    numbers,
    st.dictionaries(st.sampled_from(["decode", "range"]), st.integers(1, 5)),
    numbers,
)


@st.composite
def ledgers(draw: st.DrawFn) -> list[LedgerEntry]:
    """Batches of two partitions, one after the other without a gap."""
    places = {0: draw(numbers), 1: draw(numbers)}
    entries: list[LedgerEntry] = []
    for batch in range(draw(st.integers(1, 8))):
        stretches: dict[int, LedgerStretch] = {}
        for partition in draw(st.sets(st.sampled_from([0, 1]), min_size=1)):
            count, lost, absent = draw(counts), draw(numbers), draw(numbers)
            end = places[partition] + count.read + lost + absent
            stretches[partition] = LedgerStretch(places[partition], end, count, lost)
            places[partition] = end
        entries.append(LedgerEntry(batch, "now", stretches))
    return entries


@given(ledgers())
def test_a_ledger_that_was_kept_well_has_no_flaw(entries: list[LedgerEntry]) -> None:
    assert flaws(entries) == []
    for entry in entries:
        for partition, stretch in entry.stretches.items():
            assert checked(partition, entry.batch, stretch) == stretch


@given(ledgers(), st.data())
def test_a_batch_that_is_gone_is_missing(entries: list[LedgerEntry], data: st.DataObject) -> None:
    gone = data.draw(st.integers(0, len(entries) - 1))
    found = flaws(entries[:gone] + entries[gone + 1 :])
    for partition, stretch in entries[gone].stretches.items():
        before = any(partition in one.stretches for one in entries[:gone])
        after = any(partition in one.stretches for one in entries[gone + 1 :])
        is_told = any(flaw.partition == partition for flaw in found)
        width = stretch.end_exclusive - stretch.start
        assert is_told == (before and after and width > 0)


@given(ledgers(), st.data())
def test_a_batch_that_is_there_twice_is_told(
    entries: list[LedgerEntry], data: st.DataObject
) -> None:
    twice = data.draw(st.integers(0, len(entries) - 1))
    found = flaws([*entries[: twice + 1], entries[twice], *entries[twice + 1 :]])
    wide = {
        partition
        for partition, one in entries[twice].stretches.items()
        if one.end_exclusive > one.start
    }
    assert {flaw.partition for flaw in found} == wide


def test_what_is_missing_is_named() -> None:
    none = Counts()
    entries = [
        LedgerEntry(0, "", {0: LedgerStretch(0, 10, Counts(10, 10))}),
        LedgerEntry(1, "", {0: LedgerStretch(13, 13, none)}),
    ]
    assert flaws(entries) == [Flaw(0, "missing: @ 10 to 12")]


def test_a_record_that_nobody_can_account_for_is_told() -> None:
    entry = LedgerEntry(7, "", {3: LedgerStretch(0, 10, Counts(10, written=9))})
    assert flaws([entry]) == [
        Flaw(3, "batch 7: read 10 records, but accounts for only 9"),
    ]


def test_more_records_than_offsets_are_told() -> None:
    entry = LedgerEntry(7, "", {3: LedgerStretch(0, 5, Counts(10, written=10))})
    assert flaws([entry]) == [Flaw(3, "batch 7: has more records than offsets in @ 0 to 4")]
