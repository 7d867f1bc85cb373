"""What a Parquet footer says of the ingestion times in a file, row group by row group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from backfill.units import RowGroup
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow.parquet as pq

FIELD_ID = b"PARQUET:field_id"


class NoBounds(Terminal):
    """A file that cannot be put in order without reading it."""

    def __init__(self, path: str, source: str) -> None:
        super().__init__(
            f"data file {path} of {source} has no bounds on the ingestion time",
            "rewrite it with a writer that keeps statistics, so that it can be put in order",
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
        size = sum(
            group.column(number).total_compressed_size for number in range(group.num_columns)
        )
        found.append(RowGroup(index, *bounds, group.num_rows, size))
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


def _leaf_index(file: pq.ParquetFile, field_id: int, path: str, source: str) -> int:
    name = column_path(file.schema_arrow, field_id)
    leaves = [file.schema.column(number).path for number in range(len(file.schema))]
    if name is None or name not in leaves:
        raise NoBounds(path, source)
    return leaves.index(name)


def _micros(time: object) -> int:
    return int(pa.scalar(time, type=pa.timestamp("us", tz="UTC")).value)
