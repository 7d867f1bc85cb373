"""What records lie in which cell of time, counted on their columns in Arrow."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from backfill.columns import offsets_of, partitions_of, times_of, topics_of
from backfill.cutting import Cell, Grid
from backfill.strict import Stretch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from backfill.units import RowGroup, Unit

LEAST, MOST = 2**63, -(2**63)


def cells(batches: Iterable[pa.RecordBatch], grid: Grid, time_column: str) -> list[Cell]:
    """Find which cells of the grid hold any of the records."""
    found: dict[int, tuple[int, int, int]] = defaultdict(lambda: (LEAST, MOST, 0))
    for batch in batches:
        for row in _grouped(_columns(batch, grid, time_column), ["cell"], ["time"]):
            low, high, rows = found[row["cell"]]
            found[row["cell"]] = (
                min(low, row["time_min"]),
                max(high, row["time_max"]),
                rows + row["time_count"],
            )
    return [Cell(number, *bounds) for number, bounds in found.items()]


def stretches(
    file: Unit,
    group: RowGroup | None,
    batches: Iterable[pa.RecordBatch],
    grid: Grid,
    time_column: str,
) -> Iterator[Stretch]:
    """Find what a row group has of each Kafka partition in each cell of the grid."""
    tables = [
        _columns(batch, grid, time_column)
        .append_column("topic", topics_of(batch))
        .append_column("partition", partitions_of(batch))
        .append_column("offset", offsets_of(batch))
        for batch in batches
    ]
    if not tables:
        return
    keys = ["topic", "partition", "cell"]
    for row in _grouped(pa.concat_tables(tables), keys, ["offset", "time"]):
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
        )


def _columns(batch: pa.RecordBatch, grid: Grid, time_column: str) -> pa.Table:
    times = times_of(batch, time_column)
    cell = pc.divide(pc.subtract(times, grid.origin_us), grid.cell_us)
    return pa.table({"time": times, "cell": cell})


def _grouped(table: pa.Table, keys: list[str], values: list[str]) -> list[dict[str, Any]]:
    asked = [(value, how) for value in values for how in ("min", "max")]
    grouped = table.group_by(keys).aggregate([*asked, ("time", "count")])
    rows: list[dict[str, Any]] = grouped.to_pylist()
    return rows
