"""Which units go together, step by step: the lateness bound, made by construction.

The frontier F is the least time among the units of all sources that are not dispatched yet. A
step holds units whose newest record is at most the threshold ahead of F. So whatever comes in
a later step is at F or after it, and nothing that was delivered before it is more than the
threshold ahead: the bound holds for every pair of records, of whichever sources.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING

from backfill.plan.cutting import join_units
from backfill.plan.units import OffsetRange, Unit  # noqa: TC001 - a kept plan is read by its types
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from backfill.plan.units import FilePart


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one step may hold; a single unit may always be one."""

    max_rows: int
    max_bytes: int


STEP_LIMITS = Limits(max_rows=2_000_000, max_bytes=512 * 2**20)


@dataclass(frozen=True, slots=True)
class Step:
    """What is delivered together. Everything before the frontier has been delivered before.

    With `ranges`, only their records belong to the step, and are delivered by their offsets. A step
    without units ends a replay: no record, and a watermark that moves on.
    """

    number: int
    frontier_us: int
    units: tuple[Unit, ...]
    ranges: tuple[OffsetRange, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows the step holds, by metadata."""
        return sum(unit.rows for unit in self.units)

    @property
    def size_bytes(self) -> int:
        """How many bytes its units take in their files."""
        return sum(unit.size_bytes for unit in self.units)


def bounded(
    units: Iterable[Unit], threshold_us: int, limits: Limits, ends_us: Sequence[int] = ()
) -> Iterator[Step]:
    """Yield the steps of a lateness-bounded replay of units that are each narrow enough.

    No step goes on beyond one of those times, given in their order: each unit lies on one side.
    """
    walk = _Walk(sorted(units, key=lambda unit: unit.order_key), limits)
    number = 0
    while (oldest := walk.oldest()) is not None:
        limit_us = oldest.min_ts_us + threshold_us
        following = bisect_right(ends_us, oldest.min_ts_us)
        if following < len(ends_us):
            limit_us = min(limit_us, ends_us[following] - 1)
        if oldest.max_ts_us > limit_us:
            raise Terminal(f"{oldest.path} spans more time than the threshold, but was not cut")
        yield Step(number, oldest.min_ts_us, tuple(join_units(walk.take_up_to(limit_us))))
        number += 1


def unordered(units: Sequence[Unit], limits: Limits) -> Iterator[Step]:
    """Yield steps by file name, whatever their times: what a plain batch of files would do."""
    chosen: list[list[Unit]] = []
    rows = size = 0
    for unit in sorted(units, key=lambda unit: (unit.source, unit.path, unit.order_key)):
        rows += unit.rows
        size += unit.size_bytes
        if not chosen or rows > limits.max_rows or size > limits.max_bytes:
            chosen.append([])
            rows, size = unit.rows, unit.size_bytes
        chosen[-1].append(unit)
    for number, together in enumerate(chosen):
        yield Step(number, min(one.min_ts_us for one in together), tuple(together))


class _Walk:
    """The units of a plan in the order of time, and which of them are dispatched."""

    def __init__(self, units: Sequence[Unit], limits: Limits) -> None:
        self._units = units
        self._limits = limits
        self._done = [False] * len(units)
        self._oldest = 0
        self._arrived = 0
        self._ready: list[tuple[int, int]] = []
        self._slices: dict[FilePart, deque[int]] = {}
        for index, unit in enumerate(units):
            if unit.window_us is not None:
                self._slices.setdefault(unit.read_with, deque()).append(index)

    def oldest(self) -> Unit | None:
        """Return the unit at the frontier; None when all are dispatched."""
        while self._oldest < len(self._units) and self._done[self._oldest]:
            self._oldest += 1
        return self._units[self._oldest] if self._oldest < len(self._units) else None

    def take_up_to(self, limit_us: int) -> tuple[Unit, ...]:
        """Dispatch the frontier's unit, then what ends by the limit, the earliest end first."""
        while self._arrived < len(self._units) and self._units[self._arrived].min_ts_us <= limit_us:
            heapq.heappush(self._ready, (self._units[self._arrived].max_ts_us, self._arrived))
            self._arrived += 1
        taken = self._that_fit(self._together(self._oldest, limit_us))
        self._dispatch(taken)
        rows, size = self._rows_of(taken), self._units[self._oldest].size_bytes
        while self._ready and self._ready[0][0] <= limit_us:
            index = self._ready[0][1]
            if not self._done[index]:
                together = self._together(index, limit_us)
                rows += self._rows_of(together)
                size += self._units[index].size_bytes
                if rows > self._limits.max_rows or size > self._limits.max_bytes:
                    break
                self._dispatch(together)
                taken += together
            heapq.heappop(self._ready)
        return tuple(self._units[index] for index in sorted(taken))

    def _together(self, index: int, limit_us: int) -> list[int]:
        """Return a unit, and the slices of its row group that end by the limit: read once for all."""
        unit = self._units[index]
        if unit.window_us is None:
            return [index]
        left = self._slices[unit.read_with]
        return list(takewhile(lambda one: self._units[one].max_ts_us <= limit_us, left))

    def _that_fit(self, slices: list[int]) -> list[int]:
        """Return as many of them as a step may have rows, and at least one."""
        rows = accumulate(self._units[index].rows for index in slices)
        fit = sum(1 for _ in takewhile(lambda held: held <= self._limits.max_rows, rows))
        return slices[: max(1, fit)]

    def _dispatch(self, taken: Sequence[int]) -> None:
        for index in taken:
            self._done[index] = True
            unit = self._units[index]
            if unit.window_us is not None:
                self._slices[unit.read_with].popleft()

    def _rows_of(self, taken: Sequence[int]) -> int:
        return sum(self._units[index].rows for index in taken)
