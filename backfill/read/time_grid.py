"""What records lie in which cell of time, counted on their columns in Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from backfill.plan.strict import Stretch
from backfill.plan.units import NO_EVENTS
from backfill.read.batch_columns import positions_of
from headrace.records.arrow import times_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backfill.plan.cutting import Grid
    from backfill.plan.units import EventColumns, Spans, Unit


def slices(
    unit: Unit,
    batches: Iterable[pa.RecordBatch],
    grid: Grid,
    time_column: str,
    events: EventColumns,
) -> list[Unit]:
    """Cut a file or row group: a slice for each cell of the grid that holds any of its records."""
    tables = (pa.table(_columns(batch, grid, time_column, events)) for batch in batches)
    found = _grouped(tables, ["cell"], ["time", *_names(events)])
    return [
        grid.slice_of(
            unit,
            row["cell"],
            (row["time_min"], row["time_max"]),
            row["time_count"],
            _spans(row, events),
        )
        for row in sorted(found, key=lambda row: row["cell"])
    ]


def stretches(
    unit: Unit,
    batches: Iterable[pa.RecordBatch],
    grid: Grid,
    time_column: str,
    events: EventColumns,
) -> list[Stretch]:
    """Find what a file or row group has of each Kafka partition in each cell of the grid."""
    tables = (
        pa.table(_columns(batch, grid, time_column, events) | positions_of(batch)._asdict())
        for batch in batches
    )
    found = _grouped(tables, ["topic", "partition", "cell"], ["offset", "time", *_names(events)])
    return [
        Stretch(
            unit,
            row["topic"],
            row["partition"],
            row["cell"],
            row["offset_min"],
            row["offset_max"],
            row["time_min"],
            row["time_max"],
            row["time_count"],
            _spans(row, events),
        )
        for row in found
    ]


def _columns(
    batch: pa.RecordBatch, grid: Grid, time_column: str, events: EventColumns
) -> dict[str, pa.Array]:
    times = times_of(batch, time_column)
    cell = pc.divide(pc.subtract(times, grid.origin_us), grid.cell_us)
    seen = {
        name: _events(batch, column, times, events)
        for name, column in zip(_names(events), events.names, strict=True)
    }
    return {"time": times, "cell": cell, **seen}


def _events(
    batch: pa.RecordBatch, column: str, arrived: pa.Int64Array, events: EventColumns
) -> pa.Int64Array:
    """Return the event times of records, of those that are held back none."""
    if column not in batch.schema.names:
        # Written before the column was added.
        return pa.nulls(batch.num_rows, pa.int64())
    times, ahead = times_of(batch, column), events.ahead
    if ahead is None or ahead.column != column:
        return times
    furthest = pc.add(arrived, ahead.limit_us)
    instead = furthest if ahead.action == "clamp" else pa.scalar(None, pa.int64())
    return pc.if_else(pc.greater(times, furthest), instead, times)


def _names(events: EventColumns) -> list[str]:
    return [f"event{number}" for number in range(len(events.names))]


def _spans(row: dict[str, Any], events: EventColumns) -> Spans:
    return tuple(
        NO_EVENTS if row[f"{name}_min"] is None else (row[f"{name}_min"], row[f"{name}_max"])
        for name in _names(events)
    )


def _grouped(
    tables: Iterable[pa.Table], keys: list[str], values: list[str]
) -> list[dict[str, Any]]:
    """Return least and greatest of values, and how many times, by keys: of each table, then of all."""
    bounds = [(value, how) for value in values for how in ("min", "max")]
    parts = [table.group_by(keys).aggregate([*bounds, ("time", "count")]) for table in tables]
    if not parts:
        return []
    again = [*((f"{value}_{how}", how) for value, how in bounds), ("time_count", "sum")]
    whole = pa.concat_tables(parts).group_by(keys).aggregate(again)
    rows: list[dict[str, Any]] = whole.rename_columns(
        {f"{name}_{how}": name for name, how in again}
    ).to_pylist()
    return rows
