"""The rows of a lookup's snapshot, in the columns that the application knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.schema import Schema

from backfill.file_columns import holds_structs_in_lists
from backfill.selection import without_record
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyiceberg.table import FileScanTask, Table


def names_of(text: str) -> list[str]:
    """Return the names of a table's columns."""
    return [field.name for field in Schema.model_validate_json(text).fields]


def lookup_columns(text: str, table: str, columns: Sequence[str]) -> Schema:
    """Return those columns of a lookup's table, all of them where none is named."""
    schema = Schema.model_validate_json(text)
    known = [field.name for field in schema.fields]
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise Terminal(
            f"table {table} has no column {', '.join(unknown)}", f"it has {', '.join(known)}"
        )
    chosen = schema.select(*columns) if columns else without_record(schema)
    held = [one.name for one in chosen.fields if holds_structs_in_lists(one.field_type)]
    if held:
        # pyiceberg reads a missing list of structs as an empty one.
        raise Terminal(
            f"lookup table {table} has lists or maps of records ({', '.join(held)}), which cannot"
            " be read exactly",
            "name the columns that you need: columns: […]",
        )
    return chosen


def snapshot_rows(
    table: Table, snapshot_id: int, columns: Schema, share: tuple[int, int]
) -> Iterator[pa.RecordBatch]:
    """Read one of so many shares of a snapshot's files, deletes and renames applied.

    A column that came later than the snapshot is null.
    """
    number, count = share
    scan = ArrowScan(table.metadata, table.io, columns, AlwaysTrue())
    try:
        for task in _files(table, snapshot_id)[number::count]:
            # One by one: given several, it holds them all in memory.
            yield from (batch for batch in scan.to_record_batches([task]) if batch.num_rows)
    except FileNotFoundError as problem:
        raise Terminal(
            f"a data file of snapshot {snapshot_id} of {table.name()} is gone: {problem}",
            "somebody removed it though the snapshot needs it: restore the file",
        ) from None


def _files(table: Table, snapshot_id: int) -> list[FileScanTask]:
    if table.snapshot_by_id(snapshot_id) is None:
        raise Terminal(
            f"snapshot {snapshot_id} of {table.name()} is gone",
            "it was expired: plan the replay anew, with another --run-id",
        )
    try:
        tasks = list(table.scan(snapshot_id=snapshot_id).plan_files())
    except (ValueError, NotImplementedError) as problem:
        if "equality deletes" not in str(problem):
            raise
        raise Terminal(
            f"snapshot {snapshot_id} of {table.name()} has equality deletes, which are not read here",
            "compact the table (in Spark: CALL system.rewrite_data_files)",
        ) from None
    # Every task of a batch has to see the same order.
    return sorted(tasks, key=lambda task: task.file.file_path)
