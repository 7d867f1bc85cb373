"""Cutting a file whose times lie too far apart for the threshold.

Row groups are taken as they are, in runs that fit. A row group that is itself too wide becomes
slices of time, one for each cell of a grid that holds any of its rows: slices of all files meet
at the same times, and a lone record far from the others gets a slice of its own, so that it is
delivered in its turn and holds nobody up.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from backfill.units import RowGroup, Unit


@dataclass(frozen=True, slots=True)
class Cell:
    """The rows of a row group in one cell of the grid."""

    number: int
    min_ts_us: int
    max_ts_us: int
    rows: int


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of time as wide as the threshold."""

    origin_us: int
    cell_us: int

    def cell_of(self, time_us: int) -> int:
        """Return the cell that a time lies in."""
        return (time_us - self.origin_us) // self.cell_us

    def window_us(self, cell: int) -> tuple[int, int]:
        """Return the half-open span of a cell."""
        start = self.origin_us + cell * self.cell_us
        return start, start + self.cell_us


def runs_of_row_groups(
    unit: Unit, groups: Sequence[RowGroup], threshold_us: int
) -> tuple[list[Unit], list[RowGroup]]:
    """Return the runs of row groups that fit the threshold, and the groups that do not."""
    runs: list[Unit] = []
    too_wide: list[RowGroup] = []
    run: list[RowGroup] = []
    for group in groups:
        if group.width_us > threshold_us:
            too_wide.append(group)
            runs += _as_unit(unit, run)
            run = []
            continue
        if run and _width_us([*run, group]) > threshold_us:
            runs += _as_unit(unit, run)
            run = []
        run.append(group)
    return [*runs, *_as_unit(unit, run)], too_wide


def slices_of_row_group(
    unit: Unit, group: RowGroup, cells: Iterable[Cell], grid: Grid
) -> list[Unit]:
    """Return a slice of a row group for each cell that holds any of its rows."""
    return [
        replace(
            unit,
            min_ts_us=cell.min_ts_us,
            max_ts_us=cell.max_ts_us,
            rows=cell.rows,
            # Each slice reads the whole group: that is what cutting costs.
            size_bytes=group.size_bytes,
            row_groups=(group.index, group.index + 1),
            window_us=grid.window_us(cell.number),
            # Counted row by row, the period's alone.
            partly=False,
        )
        for cell in sorted(cells, key=lambda cell: cell.number)
    ]


def at_times(units: Iterable[Unit], times_us: Sequence[int]) -> Iterator[Unit]:
    """Cut the units that have a time, of these in their order, inside them.

    Nothing is read for it: bounds and rows of a piece are what the unit's own allow for.
    """
    for unit in units:
        first = bisect_right(times_us, unit.min_ts_us)
        inside = times_us[first : bisect_right(times_us, unit.max_ts_us)]
        if not inside:
            yield unit
            continue
        start, end = unit.window_us or (unit.min_ts_us, unit.max_ts_us + 1)
        bounds = [start, *inside, end]
        given = [round(unit.rows * (at - start) / (end - start)) for at in bounds]
        for (low, before), (high, upto) in pairwise(zip(bounds, given, strict=True)):
            yield replace(
                unit,
                min_ts_us=max(low, unit.min_ts_us),
                max_ts_us=min(high - 1, unit.max_ts_us),
                rows=upto - before,
                window_us=(low, high),
            )


def _as_unit(unit: Unit, run: Sequence[RowGroup]) -> list[Unit]:
    if not run:
        return []
    return [
        replace(
            unit,
            min_ts_us=min(group.min_ts_us for group in run),
            max_ts_us=max(group.max_ts_us for group in run),
            rows=sum(group.rows for group in run),
            size_bytes=sum(group.size_bytes for group in run),
            row_groups=(run[0].index, run[-1].index + 1),
            partly=any(group.partly for group in run),
        )
    ]


def _width_us(run: Sequence[RowGroup]) -> int:
    return max(group.max_ts_us for group in run) - min(group.min_ts_us for group in run)
