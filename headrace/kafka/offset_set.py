"""Sets of offsets as runs: as small as the log is contiguous, however many rows there are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class Runs:
    """Disjoint ranges of offsets, in order; none touches the next."""

    def __init__(self, *ranges: range) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        for span in ranges:
            self.add(span)

    def __iter__(self) -> Iterator[range]:
        return map(range, self._starts, self._stops)

    def __len__(self) -> int:
        """How many offsets it holds, not how many runs."""
        return sum(self._stops) - sum(self._starts)

    def __repr__(self) -> str:
        return f"Runs({', '.join(map(repr, self))})"

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


class Tally:
    """The offsets of one partition's rows: which there are, and which came more than once."""

    def __init__(self) -> None:
        self.held = Runs()
        self.doubled = Runs()
        self.rows = 0

    def count(self, offsets: NDArray[np.int64]) -> None:
        """Count rows, in any order."""
        self.rows += len(offsets)
        ordered = np.sort(offsets)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        for span in runs_of(np.unique(twice)):
            self.doubled.add(span)
        for span in runs_of(np.unique(ordered)):
            for again in self.held.add(span):
                self.doubled.add(again)


def runs_of(ordered: NDArray[np.int64]) -> Iterator[range]:
    """Yield the runs of distinct offsets in rising order."""
    if not len(ordered):
        return
    cuts = np.flatnonzero(np.diff(ordered) > 1)
    starts = ordered[np.concatenate(([0], cuts + 1))]
    stops = ordered[np.concatenate((cuts, [len(ordered) - 1]))] + 1
    yield from map(range, starts.tolist(), stops.tolist())
