"""Steps in which every Kafka partition's records come by their offsets, as a change log asks.

Time decides how far a step goes, offsets decide what is in it. Up to a time W a partition is
taken to the last of its offsets that holds a record before W: so what comes in a later step
comes by a later offset, and is of W or after it. Where timestamps run with the offsets, that is
a cut by time, and no record is out of order; a record whose clock lied is carried along with its
neighbours, and one from far ahead holds nobody up.

Files may hold any mixture of partitions: a file is read in each step that has a share in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from backfill.plan.cutting import join_units
from backfill.plan.steps import Step
from backfill.plan.units import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from backfill.plan.steps import Limits
    from backfill.plan.units import Spans, Unit

CELLS_PER_STEP = 16


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a row group, or a file, has of one Kafka partition in one cell of time."""

    of: Unit
    topic: str
    partition: int
    cell: int
    first_offset: int
    last_offset: int
    min_ts_us: int
    max_ts_us: int
    rows: int
    events: Spans = ()

    @property
    def kafka_partition(self) -> tuple[str, str, int]:
        """The Kafka partition, in its table."""
        return self.of.source, self.topic, self.partition

    @property
    def unit(self) -> Unit:
        """The unit that is read for it."""
        return replace(
            self.of,
            min_ts_us=self.min_ts_us,
            max_ts_us=self.max_ts_us,
            rows=self.rows,
            # Counted row by row, the period's alone.
            partly=False,
            events=self.events,
        )


def cell_us(threshold_us: int) -> int:
    """Return how wide a cell is: a step holds a whole number of them, at most the threshold."""
    return max(1, threshold_us // CELLS_PER_STEP)


def strict(stretches: Sequence[Stretch], threshold_us: int, limits: Limits) -> Iterator[Step]:
    """Yield the steps of a replay in the order of offsets."""
    starts = _starts(stretches, max(1, threshold_us // cell_us(threshold_us)), limits)
    ends = _ends(stretches, starts)
    shares: dict[int, list[Unit]] = defaultdict(list)
    for stretch in stretches:
        unit, cut = stretch.unit, ends[stretch.kafka_partition]
        first, last = cut.step_of(stretch.first_offset), cut.step_of(stretch.last_offset)
        for index in range(first, last):
            # Its rows are counted once, with the last of them.
            shares[cut.steps[index]].append(replace(unit, rows=0))
        shares[cut.steps[last]].append(unit)
    ranges: dict[int, list[OffsetRange]] = defaultdict(list)
    for name, cut in sorted(ends.items()):
        for step, (start, end) in zip(cut.steps, pairwise(cut.bounds), strict=True):
            ranges[step].append(OffsetRange(*name, start, end))
    for number, step in enumerate(sorted(shares)):
        units = tuple(join_units(shares[step]))
        yield Step(number, units[0].min_ts_us, units, tuple(ranges[step]))


@dataclass(slots=True)
class _Cuts:
    """Where a partition is cut: `bounds[i]` to before `bounds[i + 1]` is in `steps[i]`."""

    bounds: list[int]
    steps: list[int] = field(default_factory=list)

    def step_of(self, offset: int) -> int:
        return bisect_right(self.bounds, offset) - 1


def _starts(stretches: Iterable[Stretch], most_cells: int, limits: Limits) -> list[int]:
    """Put neighbouring cells together, as many as a step may hold; return with which each begins."""
    rows: dict[int, int] = defaultdict(int)
    size: dict[int, int] = defaultdict(int)
    for one in stretches:
        rows[one.cell] += one.rows
        size[one.cell] += one.of.size_bytes * one.rows // max(1, one.of.rows)
    starts: list[int] = []
    held_rows = held_bytes = 0
    for cell in sorted(rows):
        held_rows += rows[cell]
        held_bytes += size[cell]
        is_full = held_rows > limits.max_rows or held_bytes > limits.max_bytes
        if not starts or cell - starts[-1] >= most_cells or is_full:
            starts.append(cell)
            held_rows, held_bytes = rows[cell], size[cell]
    return starts


def _ends(stretches: Iterable[Stretch], starts: Sequence[int]) -> dict[tuple[str, str, int], _Cuts]:
    """Find up to which offset each partition goes in each step."""
    cuts: dict[tuple[str, str, int], _Cuts] = {}
    newest: dict[tuple[tuple[str, str, int], int], int] = {}
    for one in stretches:
        cut = cuts.setdefault(one.kafka_partition, _Cuts([one.first_offset]))
        cut.bounds[0] = min(cut.bounds[0], one.first_offset)
        place = one.kafka_partition, bisect_right(starts, one.cell) - 1
        newest[place] = max(newest.get(place, one.last_offset), one.last_offset)
    for (name, step), offset in sorted(newest.items()):
        cut = cuts[name]
        if offset >= cut.bounds[-1]:
            cut.bounds.append(offset + 1)
            cut.steps.append(step)
    return cuts
