"""Bounds from a Parquet footer, for files whose manifest has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyiceberg.io import FileIO

FIELD_ID = b"PARQUET:field_id"


def footer_bounds(io: FileIO, path: str, field_id: int, source: str) -> tuple[int, int]:
    """Return the least and the greatest time of a file in microseconds."""
    with io.new_input(path).open() as stream:
        file = pq.ParquetFile(stream)
        column = _leaf_index(file, field_id)
        statistics = [
            file.metadata.row_group(group).column(column).statistics
            for group in range(file.metadata.num_row_groups)
        ]
    if not statistics or any(found is None or not found.has_min_max for found in statistics):
        raise Terminal(
            f"data file {path} of {source} has no bounds on the ingestion time",
            "rewrite it (lake-writer maintain), so that it can be put in order",
        )
    return (
        min(_micros(found.min) for found in statistics),
        max(_micros(found.max) for found in statistics),
    )


def _leaf_index(file: pq.ParquetFile, field_id: int) -> int:
    """Return which leaf column of a file carries that Iceberg field id."""
    path = _path(file.schema_arrow, field_id)
    leaves = [file.schema.column(number).path for number in range(len(file.schema))]
    if path is None or path not in leaves:
        raise Terminal(
            "a data file does not have the ingestion time", "it is no file of this table"
        )
    return leaves.index(path)


def _path(fields: Iterable[pa.Field], field_id: int) -> str | None:
    for field in fields:
        if (field.metadata or {}).get(FIELD_ID) == str(field_id).encode():
            return str(field.name)
        if pa.types.is_struct(field.type):
            inside = _path(field.type, field_id)
            if inside is not None:
                return f"{field.name}.{inside}"
    return None


def _micros(time: object) -> int:
    return int(pa.scalar(time, type=pa.timestamp("us", tz="UTC")).value)
