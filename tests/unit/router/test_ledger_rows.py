"""A ledger for the pages: sums that add up, and every lost offset by its number."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.http.detail_rows import LedgerPartition, LedgerRow
from router.ledger.entries import Counts, LedgerStretch
from router.ledger.places import Place
from router.run.ledger_rows import ledger_row, lost_in

AT = "2026-03-01T00:00:00.000Z"


def row(*stretches: LedgerStretch, end: int | None = None) -> LedgerPartition:
    place = Place.beginning(AT, stretches[0])
    for batch, stretch in enumerate(stretches[1:]):
        place = place.following(batch, AT, stretch)
    (found,) = ledger_row("starts", {3: place}, {} if end is None else {3: end}).partitions
    return found


def test_all_batches_are_one_sum() -> None:
    found = row(
        LedgerStretch(10, 10, Counts()),
        LedgerStretch(10, 20, Counts(10, 4, 3, {"nulls": 2}, 1)),
        LedgerStretch(20, 30, Counts(8, 8)),
        end=33,
    )
    assert (found.partition, found.began, found.position, found.lag) == (3, 10, 30, 3)
    assert (found.read, found.written, found.filtered, found.quarantined) == (18, 12, 3, 1)
    assert (found.dropped, found.absent, found.last_batch) == ({"nulls": 2}, 2, AT)
    assert found.adds_up


def test_lost_offsets_are_named_whenever_that_was() -> None:
    found = row(
        LedgerStretch(0, 5, Counts(5, 5)),
        LedgerStretch(5, 20, Counts(10, 10), lost=5),
        LedgerStretch(20, 21, Counts(0), lost=1),
        LedgerStretch(21, 25, Counts(4, 4), replaced=2),
    )
    assert found.lost_offsets == [
        "@ 5 to 9",
        "@ 20",
        "@ 19 to 20 (replaced after they were read)",
    ]
    assert (found.lost, found.adds_up) == (6, True)


def test_what_does_not_add_up_says_by_how_much() -> None:
    gap = LedgerPartition(0, 0, 20, 20, read=10, written=10, filtered=0, quarantined=0)
    assert (gap.missing, gap.adds_up) == (0, False)
    gone = LedgerPartition(0, 0, 10, 10, read=10, written=7, filtered=1, quarantined=0)
    assert (gone.missing, gone.adds_up) == (2, False)
    assert not LedgerRow("starts", [gap, gone]).adds_up


@given(
    st.lists(
        st.tuples(*[st.integers(0, 9)] * 6),
        min_size=1,
        max_size=6,
    )
)
def test_a_ledger_that_is_whole_always_adds_up(batches: list[tuple[int, ...]]) -> None:
    at, stretches = 0, []
    for written, filtered, dropped, quarantined, absent, lost in batches:
        read = written + filtered + dropped + quarantined
        counts = Counts(read, written, filtered, {"rule": dropped} if dropped else {}, quarantined)
        stretches.append(LedgerStretch(at, at + read + absent + lost, counts, lost))
        at += read + absent + lost
    found = row(*stretches)
    assert found.adds_up
    assert found.lost == sum(lost for *_, lost in batches)
    place = Place.beginning(AT, stretches[0])
    for stretch in stretches[1:]:
        place = place.following(0, AT, stretch)
    assert lost_in([place]) == found.lost
    whole = LedgerRow("all", [found, found]).total
    assert (whole.read, whole.missing) == (2 * found.read, 0)
