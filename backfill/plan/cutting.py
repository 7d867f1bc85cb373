"""Cutting a file whose times lie too far apart for the threshold.

Row groups are taken as they are. One that is itself too wide becomes slices of time, one for each
cell of a fine grid that holds any of its rows: so a lone record far from the others is delivered
in its turn and holds nobody up. What goes into one step is then joined again: where a step ends is
decided by all files together, and a row group is read once for each step that it has rows of.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from backfill.plan.units import both_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from backfill.plan.units import RowGroup, Spans, Unit

# A step is filled up to this part of the threshold by slices of wide row groups, however the
# narrow files beside them lie.
CELLS_OF_A_STEP = 8
# A row group of more steps than that has as many slices already.
FINE_STEPS = 256


@dataclass(frozen=True, slots=True)
class Cell:
    """The rows of a row group in one cell of the grid."""

    number: int
    min_ts_us: int
    max_ts_us: int
    rows: int
    events: Spans = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of time, all of one width."""

    origin_us: int
    cell_us: int

    def window_us(self, cell: int) -> tuple[int, int]:
        """Return the half-open span of a cell."""
        start = self.origin_us + cell * self.cell_us
        return start, start + self.cell_us


def fine_grid(origin_us: int, threshold_us: int, width_us: int) -> Grid:
    """Return the grid that a row group is cut by: a step is filled up to the width of a cell."""
    is_narrow = width_us <= threshold_us * FINE_STEPS
    return Grid(origin_us, max(1, threshold_us // (CELLS_OF_A_STEP if is_narrow else 1)))


def row_group_of(unit: Unit, group: RowGroup) -> Unit:
    """Return a row group of a file as a unit."""
    return replace(
        unit,
        min_ts_us=group.min_ts_us,
        max_ts_us=group.max_ts_us,
        rows=group.rows,
        size_bytes=group.size_bytes,
        row_groups=(group.index, group.index + 1),
        partly=group.partly,
        events=group.events,
    )


def slices_of_row_group(
    unit: Unit, group: RowGroup, cells: Iterable[Cell], grid: Grid
) -> list[Unit]:
    """Return a slice of a row group for each cell that holds any of its rows.

    Each has the bytes of the whole group, which it reads: that is what cutting costs.
    """
    whole = row_group_of(unit, group)
    return [
        replace(
            whole,
            min_ts_us=cell.min_ts_us,
            max_ts_us=cell.max_ts_us,
            rows=cell.rows,
            window_us=grid.window_us(cell.number),
            # Counted row by row, the period's alone.
            partly=False,
            events=cell.events,
        )
        for cell in sorted(cells, key=lambda cell: cell.number)
    ]


def cut_at_times(units: Iterable[Unit], times_us: Sequence[int]) -> Iterator[Unit]:
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


def join_units(units: Iterable[Unit]) -> list[Unit]:
    """Return the units of a step with those made one that are read together.

    Slices of one row group become one slice: a step takes them in their order, so there is none
    of another step between them. Row groups that lie side by side become a run.
    """
    whole: list[Unit] = []
    slices: dict[tuple[str, str, tuple[int, int] | None], Unit] = {}
    groups: list[Unit] = []
    for unit in units:
        if unit.window_us is not None:
            key = unit.read_with
            slices[key] = unit if key not in slices else _one_slice(slices[key], unit)
        else:
            (whole if unit.row_groups is None else groups).append(unit)
    runs: list[Unit] = []
    for unit in sorted(groups, key=lambda unit: (unit.source, unit.path, unit.row_groups or ())):
        if runs and _side_by_side(runs[-1], unit):
            runs[-1] = _one_run(runs[-1], unit)
        else:
            runs.append(unit)
    return sorted([*whole, *slices.values(), *runs], key=lambda unit: unit.order_key)


def _both(one: Unit, other: Unit) -> Unit:
    return replace(
        one,
        min_ts_us=min(one.min_ts_us, other.min_ts_us),
        max_ts_us=max(one.max_ts_us, other.max_ts_us),
        rows=one.rows + other.rows,
        partly=one.partly or other.partly,
        events=both_spans(one.events, other.events),
    )


def _one_slice(one: Unit, other: Unit) -> Unit:
    windows = [unit.window_us for unit in (one, other) if unit.window_us is not None]
    window_us = min(start for start, _ in windows), max(end for _, end in windows)
    return replace(_both(one, other), window_us=window_us)


def _side_by_side(one: Unit, other: Unit) -> bool:
    if (one.source, one.path) != (other.source, other.path):
        return False
    return (
        one.row_groups is not None
        and other.row_groups is not None
        and one.row_groups[1] == other.row_groups[0]
    )


def _one_run(one: Unit, other: Unit) -> Unit:
    held = [unit.row_groups for unit in (one, other) if unit.row_groups is not None]
    row_groups = min(first for first, _ in held), max(end for _, end in held)
    size_bytes = one.size_bytes + other.size_bytes
    return replace(_both(one, other), size_bytes=size_bytes, row_groups=row_groups)
