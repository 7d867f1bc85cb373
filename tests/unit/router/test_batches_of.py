"""From the places in a ledger to the batches of one output."""

from __future__ import annotations

from headrace.http.detail_rows import LedgerBatch
from router.audit.history import batches_of
from router.ledger.entries import Counts, LedgerStretch
from router.ledger.places import Place

AT = ["2026-03-01T12:00:00.000Z", "2026-03-01T12:00:01.000Z"]


def place(batch: int, start: int, counts: Counts, lost: int = 0, replaced: int = 0) -> Place:
    stretch = LedgerStretch(start, start + lost + counts.read, counts, lost, replaced)
    return Place(batch, AT[max(0, batch)], stretch)


def test_partitions_of_a_batch_are_one_and_the_beginning_is_none() -> None:
    history = {
        0: [place(-1, 0, Counts()), place(0, 0, Counts(5, 3, 1, {"required": 1}, 0))],
        1: [place(0, 0, Counts(2, 2)), place(1, 2, Counts(4, 1, 1, {}, 2), lost=7, replaced=1)],
    }
    assert batches_of(history) == [
        LedgerBatch(0, AT[0], 7, 5, 1, 1, 0),
        LedgerBatch(1, AT[1], 4, 1, 1, 0, 2, 8),
    ]


def test_what_compaction_left_of_older_batches_is_no_batch() -> None:
    """A place has the sum of those before it, which stands for no batch."""
    before = LedgerStretch(0, 100, Counts(100, 100))
    newest = Place(1, AT[1], LedgerStretch(100, 105, Counts(5, 5)), (before,))
    assert batches_of({0: [newest]}) == [LedgerBatch(1, AT[1], 5, 5, 0, 0, 0)]
