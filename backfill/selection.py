"""Which columns of a table a replay reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.contract import INGESTION_TS, METADATA, RECORD
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.schema import Schema


def selected(
    table: str,
    schema: Schema,
    columns: Sequence[str],
    time_column: str,
    goes_by: Sequence[str] | None = None,
) -> Schema:
    """Return the columns that are asked for, none for all, and those that every replay goes by.

    Those are `__metadata__` and the column of times as a whole, where it is not said which.
    """
    known = [field.name for field in schema.fields]
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise UsageError(
            f"table {table} has no column {', '.join(unknown)}", f"it has {', '.join(known)}"
        )
    if goes_by is not None:
        return schema.select(*columns, *goes_by)
    if not columns:
        return schema
    return schema.select(*columns, *always_read(schema, time_column))


def seen_by_applications(
    table: str, schema: Schema, columns: Sequence[str], time_column: str
) -> Schema:
    """Return the same, without what is kept of the Kafka records, unless that is asked for by name.

    An application that runs live does not get it either.
    """
    chosen = selected(table, schema, columns, time_column)
    return chosen if columns else without_record(chosen)


def without_record(schema: Schema) -> Schema:
    """Return the columns without what is kept of the Kafka records."""
    names = [field.name for field in schema.fields]
    return schema.select(*(one for one in names if one != RECORD)) if RECORD in names else schema


def always_read(schema: Schema, time_column: str) -> set[str]:
    """Return the columns that every replay goes by, as far as the table has them."""
    goes_by = {METADATA, time_column.partition(".")[0]}
    return goes_by & {field.name for field in schema.fields}


def arrival_column(schema: Schema, time_column: str) -> str:
    """Return which column says when a record arrived."""
    held = {name.casefold(): name for name in schema.column_names}
    return held.get(INGESTION_TS.casefold(), time_column)


def may_be_null(schema: Schema, column: str) -> bool:
    """Whether a column, or a struct that it lies in, may be null in a row."""
    names = column.split(".")
    paths = (".".join(names[: number + 1]) for number in range(len(names)))
    return any(schema.find_field(path).optional for path in paths)
