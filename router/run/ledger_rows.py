"""A ledger for the pages: what became of each partition's records, and which offsets were lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.http.detail_rows import LedgerPartition, LedgerRow
from headrace.kafka.offset_set import shown_offsets
from router.ledger.entries import BEGINNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from router.ledger.places import Place


def ledger_row(output: str, places: Mapping[int, Place], ends: Mapping[int, int]) -> LedgerRow:
    """Return the ledger of an output, or of the quarantine; `ends` are the topic's next offsets."""
    partitions = [_partition(number, place, ends) for number, place in sorted(places.items())]
    return LedgerRow(output, partitions)


def lost_in(places: Iterable[Place]) -> int:
    """Return how many offsets were gone, or had other records, before they were read."""
    parts = (part for place in places for part in (*place.before, place.stretch))
    return sum(part.lost + part.replaced for part in parts)


def _partition(number: int, place: Place, ends: Mapping[int, int]) -> LedgerPartition:
    parts = place.whole
    counts = place.counts
    return LedgerPartition(
        partition=number,
        began=parts[0].start,
        position=place.stretch.end_exclusive,
        end=ends.get(number),
        read=counts.read,
        written=counts.written,
        filtered=counts.filtered,
        quarantined=counts.quarantined,
        dropped=dict(counts.dropped),
        lost=sum(one.lost for one in parts),
        absent=sum(one.absent for one in parts),
        lost_offsets=list(_lost_offsets(place)),
        last_batch=place.at if place.batch > BEGINNING else None,
    )


def _lost_offsets(place: Place) -> Iterator[str]:
    for one in place.whole:
        if one.lost:
            yield shown_offsets(range(one.start, one.start + one.lost))
        if one.replaced:
            others = range(one.start - one.replaced, one.start)
            yield f"{shown_offsets(others)} (replaced after they were read)"
