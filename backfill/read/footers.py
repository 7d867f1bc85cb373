"""What a Parquet footer says of the ingestion times in a file, row group by row group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from backfill.plan.units import NO_EVENTS
from backfill.read.batch_columns import span_of
from headrace.errors import Terminal
from headrace.records.arrow import times_of
from headrace.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow.parquet as pq

    from backfill.plan.units import Span

FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a file, by its footer; `rows` are those that have a time."""

    index: int
    span: Span
    rows: int
    size_bytes: int


class NoBounds(Terminal):
    """A file that cannot be put in order without reading it."""

    def __init__(self, path: str, source: str) -> None:
        super().__init__(
            f"data file {path} of {source} has no bounds on the ingestion time",
            "read its times while planning: --scan-without-bounds; or rewrite it with a writer "
            "that stores statistics",
        )


def row_groups(
    file: pq.ParquetFile, field_id: int, path: str, source: str, *, scan: bool = False
) -> list[RowGroup]:
    """Return the row groups of a file with their bounds; groups in which no row has a time are left out.

    Where the footer has no bounds of a group its times are read, if that is asked for.
    """
    try:
        leaf = _leaf_of(file, field_id)
    except LookupError:
        raise NoBounds(path, source) from None
    if leaf is None:
        return []
    column = file.schema.column(leaf)
    found = []
    for index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(index)
        span, nulls = _by_statistics(group, leaf) if group.num_rows else (NO_EVENTS, 0)
        rows = group.num_rows - (nulls or 0)
        if span is None and not scan:
            raise NoBounds(path, source)
        # Bounds say nothing of the rows that have no time.
        if span is None or (nulls is None and column.max_definition_level):
            span, rows = _by_reading(file, column.path, index)
        if span != NO_EVENTS:
            found.append(RowGroup(index, span, rows, _size(group)))
    return found


def event_span(
    file: pq.ParquetFile, index: int, field_id: int, *, scan: bool = False
) -> Span | None:
    """Return the bounds of a column in a row group; None where it has values and no bounds.

    With `scan` its times are read where there are none.
    """
    try:
        leaf = _leaf_of(file, field_id)
    except LookupError:
        return None
    if leaf is None:
        return NO_EVENTS
    span, _ = _by_statistics(file.metadata.row_group(index), leaf)
    if span is None and scan:
        span, _ = _by_reading(file, file.schema.column(leaf).path, index)
    return span


def _by_statistics(group: pq.RowGroupMetaData, leaf: int) -> tuple[Span | None, int | None]:
    """Return the bounds of a column and how many nulls it has, each None where nobody wrote it."""
    statistics = group.column(leaf).statistics
    if statistics is None:
        return None, None
    nulls = statistics.null_count if statistics.has_null_count else None
    if nulls == group.num_rows:
        return NO_EVENTS, nulls
    if not statistics.has_min_max:
        return None, nulls
    return (_micros(statistics.min), _micros(statistics.max)), nulls


def _by_reading(file: pq.ParquetFile, column: str, index: int) -> tuple[Span, int]:
    """Return the bounds of a column, and how many rows have a value."""
    low, high, rows = *NO_EVENTS, 0
    for batch in file.iter_batches(row_groups=[index], columns=[column]):
        times = times_of(batch, column)
        least, most = span_of(times)
        low, high = min(low, least), max(high, most)
        rows += len(times) - times.null_count
    return (low, high), rows


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


def _leaf_of(file: pq.ParquetFile, field_id: int) -> int | None:
    """Return which column of the file has that Iceberg field id; None where it is from before it.

    Raise a LookupError where the file does not tell.
    """
    name = column_path(file.schema_arrow, field_id)
    if name is None:
        if not any(FIELD_ID in (field.metadata or {}) for field in file.schema_arrow):
            raise LookupError(field_id)
        return None
    return {file.schema.column(leaf).path: leaf for leaf in range(len(file.schema))}[name]


def _micros(time: object) -> int:
    if isinstance(time, date) and not isinstance(time, datetime):
        # The column was one of dates when the file was written.
        return int(pa.scalar(time, type=pa.date32()).value) * DAY_US
    return int(pa.scalar(time, type=pa.timestamp("us", tz="UTC")).value)
