"""What a Parquet footer says of the ingestion times in a file, row group by row group."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from backfill.columns import span_of, times_of
from backfill.event_spans import NO_EVENTS, all_spans
from backfill.units import RowGroup
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow.parquet as pq

    from backfill.event_spans import Span

FIELD_ID = b"PARQUET:field_id"


class NoBounds(Terminal):
    """A file that cannot be put in order without reading it."""

    def __init__(self, path: str, source: str) -> None:
        super().__init__(
            f"data file {path} of {source} has no bounds on the ingestion time",
            "let its times be read while planning: --scan-without-bounds; or rewrite it with a writer"
            " that keeps statistics",
        )


def row_groups(file: pq.ParquetFile, field_id: int, path: str, source: str) -> list[RowGroup]:
    """Return the row groups of a file with their bounds; groups without rows are left out."""
    column = _leaf_index(file, field_id, path, source)
    found = []
    for index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(index)
        if not group.num_rows:
            continue
        statistics = group.column(column).statistics
        if statistics is None or not statistics.has_min_max:
            raise NoBounds(path, source)
        bounds = _micros(statistics.min), _micros(statistics.max)
        found.append(RowGroup(index, *bounds, group.num_rows, _size(group)))
    return found


def scanned_row_groups(
    file: pq.ParquetFile, field_id: int, path: str, source: str
) -> list[RowGroup]:
    """Return the row groups as `row_groups` does; where one has no bounds its times are read."""
    try:
        return row_groups(file, field_id, path, source)
    except NoBounds:
        column = file.schema.column(_leaf_index(file, field_id, path, source)).path
    found = []
    for index in range(file.metadata.num_row_groups):
        batches = file.iter_batches(row_groups=[index], columns=[column])
        held = [pc.min_max(times_of(batch, column)) for batch in batches]
        bounds = [one for one in held if one["min"].is_valid]
        # Where no row has a time, none is of any period.
        if bounds:
            low = min(one["min"].as_py() for one in bounds)
            high = max(one["max"].as_py() for one in bounds)
            group = file.metadata.row_group(index)
            found.append(RowGroup(index, low, high, group.num_rows, _size(group)))
    return found


def event_span(file: pq.ParquetFile, index: int, field_id: int) -> Span | None:
    """Return the bounds of a column in a row group; None where it has values and no bounds."""
    if not any((field.metadata or {}).get(FIELD_ID) for field in file.schema_arrow):
        return None
    name = column_path(file.schema_arrow, field_id)
    leaves = [file.schema.column(number).path for number in range(len(file.schema))]
    if name is None or name not in leaves:
        # Written before the column was added.
        return NO_EVENTS
    group = file.metadata.row_group(index)
    statistics = group.column(leaves.index(name)).statistics
    if statistics is None:
        return None
    if statistics.has_min_max:
        return _micros(statistics.min), _micros(statistics.max)
    is_empty = statistics.has_null_count and statistics.null_count == group.num_rows
    return NO_EVENTS if is_empty else None


def scanned_event_span(file: pq.ParquetFile, index: int, field_id: int) -> Span | None:
    """Return the bounds as `event_span` does; where there are none the times are read."""
    span = event_span(file, index, field_id)
    name = column_path(file.schema_arrow, field_id)
    if span is not None or name is None:
        return span
    batches = file.iter_batches(row_groups=[index], columns=[name])
    return all_spans(((span_of(times_of(batch, name)),) for batch in batches), 1)[0]


def bytes_by_column(metadata: pq.FileMetaData) -> dict[str, int]:
    """Return how many bytes each of a file's outermost columns takes."""
    found: Counter[str] = Counter()
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        for number in range(group.num_columns):
            column = group.column(number)
            found[column.path_in_schema.partition(".")[0]] += column.total_compressed_size
    return found


def column_path(fields: Iterable[pa.Field], field_id: int) -> str | None:
    """Return the dotted name of the column with that Iceberg field id."""
    for field in fields:
        if (field.metadata or {}).get(FIELD_ID) == str(field_id).encode():
            return str(field.name)
        if pa.types.is_struct(field.type):
            inside = column_path(field.type, field_id)
            if inside is not None:
                return f"{field.name}.{inside}"
    return None


def _size(group: pq.RowGroupMetaData) -> int:
    columns = range(group.num_columns)
    return sum(group.column(number).total_compressed_size for number in columns)


def _leaf_index(file: pq.ParquetFile, field_id: int, path: str, source: str) -> int:
    name = column_path(file.schema_arrow, field_id)
    leaves = [file.schema.column(number).path for number in range(len(file.schema))]
    if name is None or name not in leaves:
        raise NoBounds(path, source)
    return leaves.index(name)


def _micros(time: object) -> int:
    return int(pa.scalar(time, type=pa.timestamp("us", tz="UTC")).value)
