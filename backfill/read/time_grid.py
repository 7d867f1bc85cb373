"""What records lie in which cell of time, counted on their columns in Arrow."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from backfill.plan.cutting import Cell, Grid
from backfill.plan.strict import Stretch
from backfill.plan.units import NO_EVENTS, EventColumns, both_spans
from backfill.read.batch_columns import offsets_of, partitions_of, times_of, topics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from backfill.plan.units import RowGroup, Spans, Unit

NO_COLUMNS = EventColumns()
LEAST, MOST = 2**63, -(2**63)


def cells(
    batches: Iterable[pa.RecordBatch],
    grid: Grid,
    time_column: str,
    events: EventColumns = NO_COLUMNS,
) -> list[Cell]:
    """Find which cells of the grid hold any of the records, and the events in them."""
    nothing = (NO_EVENTS,) * len(events.names)
    found: dict[int, tuple[int, int, int, Spans]] = defaultdict(lambda: (LEAST, MOST, 0, nothing))
    for batch in batches:
        table = _columns(batch, grid, time_column, events)
        for row in _grouped(table, ["cell"], ["time", *_names(events)]):
            low, high, rows, spans = found[row["cell"]]
            found[row["cell"]] = (
                min(low, row["time_min"]),
                max(high, row["time_max"]),
                rows + row["time_count"],
                both_spans(spans, _spans(row, events)),
            )
    return [Cell(number, *bounds) for number, bounds in found.items()]


def stretches(  # noqa: PLR0913, PLR0917 - what is read of which part of which file
    file: Unit,
    group: RowGroup | None,
    batches: Iterable[pa.RecordBatch],
    grid: Grid,
    time_column: str,
    events: EventColumns = NO_COLUMNS,
) -> Iterator[Stretch]:
    """Find what a row group has of each Kafka partition in each cell of the grid."""
    tables = [
        _columns(batch, grid, time_column, events)
        .append_column("topic", topics_of(batch))
        .append_column("partition", partitions_of(batch))
        .append_column("offset", offsets_of(batch))
        for batch in batches
    ]
    if not tables:
        return
    keys = ["topic", "partition", "cell"]
    values = ["offset", "time", *_names(events)]
    for row in _grouped(pa.concat_tables(tables), keys, values):
        yield Stretch(
            file,
            None if group is None else group.index,
            file.size_bytes if group is None else group.size_bytes,
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


def _columns(batch: pa.RecordBatch, grid: Grid, time_column: str, events: EventColumns) -> pa.Table:
    times = times_of(batch, time_column)
    cell = pc.divide(pc.subtract(times, grid.origin_us), grid.cell_us)
    seen = {
        name: _events(batch, column, times, events)
        for name, column in zip(_names(events), events.names, strict=True)
    }
    return pa.table({"time": times, "cell": cell, **seen})


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


def _grouped(table: pa.Table, keys: list[str], values: list[str]) -> list[dict[str, Any]]:
    asked = [(value, how) for value in values for how in ("min", "max")]
    grouped = table.group_by(keys).aggregate([*asked, ("time", "count")])
    rows: list[dict[str, Any]] = grouped.to_pylist()
    return rows
