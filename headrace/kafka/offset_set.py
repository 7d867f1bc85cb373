"""Sets of offsets as ranges: as small as the log is contiguous, however many offsets there are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class OffsetSet:
    """Disjoint ranges of offsets, in order; none touches the next."""

    def __init__(self, *ranges: range) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        for span in ranges:
            self.add(span)

    def __iter__(self) -> Iterator[range]:
        return map(range, self._starts, self._stops)

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._stops[at]

    def __len__(self) -> int:
        """How many offsets it holds, not how many ranges."""
        return sum(self._stops) - sum(self._starts)

    def __repr__(self) -> str:
        return f"OffsetSet({', '.join(map(repr, self))})"

    def add(self, span: range) -> list[range]:
        """Add a range; returns the parts of it that were there before."""
        if not span:
            return []
        first = bisect_left(self._stops, span.start)
        last = bisect_right(self._starts, span.stop)
        touched = list(map(range, self._starts[first:last], self._stops[first:last]))
        both = [range(max(one.start, span.start), min(one.stop, span.stop)) for one in touched]
        start = min([span.start, *(one.start for one in touched)])
        stop = max([span.stop, *(one.stop for one in touched)])
        self._starts[first:last], self._stops[first:last] = [start], [stop]
        return [one for one in both if one]

    def without(self, other: OffsetSet) -> OffsetSet:
        """Return what is here and not in the other."""
        return OffsetSet(*(gap for run in self for gap in other.gaps(run)))

    def gaps(self, within: range) -> list[range]:
        """Return what of a range is not here."""
        found, at = [], within.start
        for run in self.overlapping(within):
            if run.start > at:
                found.append(range(at, run.start))
            at = run.stop
        if at < within.stop:
            found.append(range(at, within.stop))
        return found

    def overlapping(self, within: range) -> list[range]:
        """Return what of a range is here."""
        first = bisect_right(self._stops, within.start)
        last = bisect_left(self._starts, within.stop)
        held = map(range, self._starts[first:last], self._stops[first:last])
        return [range(max(one.start, within.start), min(one.stop, within.stop)) for one in held]


def shown_offsets(span: range) -> str:
    """Return a range of offsets as users read it: its last offset is in it."""
    return f"@ {span.start}" if len(span) == 1 else f"@ {span.start} to {span.stop - 1}"
