"""Cutting a file whose times lie too far apart for the threshold.

Row groups are taken as they are. One that is itself too wide becomes slices of time, one for each
cell of a fine grid that holds any of its rows: so a lone record far from the others is delivered
in its turn and holds nobody up. What goes into one step is then joined again: where a step ends is
decided by all files together, and a row group is read once for each step that it has rows of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from backfill.plan.units import all_spans, hull

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from backfill.plan.units import FilePart, Span, Spans, Unit

# A step is filled up to this part of the threshold by slices of wide row groups, however the
# narrow files beside them lie.
CELLS_OF_A_STEP = 8
# A row group of more steps than that has as many slices already.
FINE_STEPS = 256


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of time, all of one width."""

    origin_us: int
    cell_us: int

    def slice_of(self, unit: Unit, cell: int, span: Span, rows: int, events: Spans) -> Unit:
        """Return the rows of a file or row group that lie in a cell: between which times they are.

        It has the bytes of the whole unit, which it reads: that is what cutting costs.
        """
        start_us = self.origin_us + cell * self.cell_us
        return replace(
            unit,
            min_ts_us=span[0],
            max_ts_us=span[1],
            rows=rows,
            window_us=(start_us, start_us + self.cell_us),
            # Counted row by row, the period's alone.
            partly=False,
            events=events,
        )


def fine_grid(origin_us: int, threshold_us: int, width_us: int) -> Grid:
    """Return the grid that a row group is cut by: a step is filled up to the width of a cell."""
    is_narrow = width_us <= threshold_us * FINE_STEPS
    return Grid(origin_us, max(1, threshold_us // (CELLS_OF_A_STEP if is_narrow else 1)))


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

    What it has of one row group becomes one unit: of slices, a step takes those that follow each
    other, so there is none of another step between them. Row groups side by side become a run.
    """
    parts: dict[FilePart, list[Unit]] = defaultdict(list)
    for unit in units:
        parts[unit.read_with].append(unit)
    read_once = [_joined(of, of[0].size_bytes) for of in parts.values()]
    runs: list[list[Unit]] = []
    for unit in sorted(read_once, key=lambda unit: (unit.source, unit.path, unit.row_groups or ())):
        if runs and _is_next(runs[-1][-1], unit):
            runs[-1].append(unit)
        else:
            runs.append([unit])
    joined = (_joined(run, sum(unit.size_bytes for unit in run)) for run in runs)
    return sorted(joined, key=lambda unit: unit.order_key)


def _is_next(one: Unit, other: Unit) -> bool:
    """Whether a whole row group follows another in the same file."""
    return (
        one.window_us is None
        and other.window_us is None
        and one.row_groups is not None
        and other.row_groups is not None
        and (one.source, one.path, one.row_groups[1])
        == (other.source, other.path, other.row_groups[0])
    )


def _joined(units: Sequence[Unit], size_bytes: int) -> Unit:
    """Return units of one file as one."""
    if len(units) == 1:
        return units[0]
    return replace(
        units[0],
        min_ts_us=min(unit.min_ts_us for unit in units),
        max_ts_us=max(unit.max_ts_us for unit in units),
        rows=sum(unit.rows for unit in units),
        size_bytes=size_bytes,
        row_groups=hull(unit.row_groups for unit in units),
        window_us=hull(unit.window_us for unit in units),
        partly=any(unit.partly for unit in units),
        events=all_spans((unit.events for unit in units), len(units[0].events)),
    )
