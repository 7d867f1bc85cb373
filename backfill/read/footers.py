"""What a Parquet footer says of the ingestion times in a file, row group by row group."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from backfill.columns import span_of, times_of
from backfill.event_spans import NO_EVENTS, all_spans
from backfill.units import RowGroup
from headrace.errors import Terminal
from headrace.times import DAY_US

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


class Times(NamedTuple):
    """The oldest and the newest time of a row group, and how many of its rows have one."""

    min_ts_us: int
    max_ts_us: int
    rows: int


NO_TIMES = Times(0, 0, 0)


def row_groups(
    file: pq.ParquetFile, field_id: int, path: str, source: str, *, scan: bool = False
) -> list[RowGroup]:
    """Return the row groups of a file with their bounds; groups in which no row has a time are left out.

    Where the footer has no bounds of a group its times are read, if that is asked for.
    """
    leaf = _leaf_index(file, field_id, path, source)
    if leaf is None:
        return []
    found = []
    for index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(index)
        times = _by_statistics(file, leaf, index) if group.num_rows else NO_TIMES
        if times is None:
            if not scan:
                raise NoBounds(path, source)
            times = _by_reading(file, leaf, index)
        if times.rows:
            found.append(RowGroup(index, *times, _size(group)))
    return found


def _by_statistics(file: pq.ParquetFile, leaf: int, index: int) -> Times | None:
    rows = file.metadata.row_group(index).num_rows
    statistics = file.metadata.row_group(index).column(leaf).statistics
    if statistics is None:
        return None
    is_counted = statistics.has_null_count
    if is_counted and statistics.null_count == rows:
        return NO_TIMES
    if not statistics.has_min_max:
        return None
    if not is_counted and file.schema.column(leaf).max_definition_level:
        # Bounds say nothing of the rows that have no time.
        return _by_reading(file, leaf, index)
    bounds = _micros(statistics.min), _micros(statistics.max)
    return Times(*bounds, rows - (statistics.null_count if is_counted else 0))


def _by_reading(file: pq.ParquetFile, leaf: int, index: int) -> Times:
    column = file.schema.column(leaf).path
    batches = file.iter_batches(row_groups=[index], columns=[column])
    held = [(times, pc.min_max(times)) for times in (times_of(one, column) for one in batches)]
    known = [(times, bounds) for times, bounds in held if bounds["min"].is_valid]
    if not known:
        return NO_TIMES
    return Times(
        min(bounds["min"].as_py() for _, bounds in known),
        max(bounds["max"].as_py() for _, bounds in known),
        sum(len(times) - times.null_count for times, _ in known),
    )


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


def _leaf_index(file: pq.ParquetFile, field_id: int, path: str, source: str) -> int | None:
    """Return which column of the file has the times; None where it is from before there was one."""
    name = column_path(file.schema_arrow, field_id)
    if name is None and any(FIELD_ID in (field.metadata or {}) for field in file.schema_arrow):
        return None
    leaves = [file.schema.column(number).path for number in range(len(file.schema))]
    if name is None or name not in leaves:
        raise NoBounds(path, source)
    return leaves.index(name)


def _micros(time: object) -> int:
    if isinstance(time, date) and not isinstance(time, datetime):
        # The column was one of dates when the file was written.
        return int(pa.scalar(time, type=pa.date32()).value) * DAY_US
    return int(pa.scalar(time, type=pa.timestamp("us", tz="UTC")).value)
