"""Whether a data file's columns are its table's: the same ids, names and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.types import ListType, MapType, StructType

from headrace.contract import INGESTION_TS, METADATA, RECORD
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa


def same_columns(held: Schema, wanted: Schema) -> bool:
    """Whether a file's columns are the table's in all but comments.

    A column that may be null in the table and is never so in the file is the same column.
    """
    # With those inside of structs, lists and maps, each by its whole name.
    if held.column_names != wanted.column_names:
        return False
    pairs = ((held.find_field(name), wanted.find_field(name)) for name in wanted.column_names)
    return all(
        one.field_id == other.field_id
        and (one.required or other.optional)
        and (
            one.field_type == other.field_type
            if other.field_type.is_primitive
            else type(one.field_type) is type(other.field_type)
        )
        for one, other in pairs
    )


def without_later(wanted: Schema, held: Schema, needed: Collection[str]) -> Schema:
    """Return the wanted columns without those that the table got after the file was written.

    Such a column is null in the file's rows. One that a replay goes by is none of them, nor is one
    that stands for something else: a default, or a name that the file has for another column.
    """
    known = {field.field_id for field in held.fields}
    names = {*(field.name for field in held.fields), *needed}
    stay = [
        field
        for field in wanted.fields
        if field.required
        or field.initial_default is not None
        or field.field_id in known
        or field.name in names
    ]
    # A struct in part stays in part, which `select` by its name would make whole.
    return Schema(*stay, schema_id=wanted.schema_id)


def later_columns(wanted: Schema, rest: Schema) -> dict[str, pa.DataType]:
    """Return the columns that are wanted and not in the rest, with the types that they have."""
    left = {field.name for field in rest.fields}
    fields = [field for field in wanted.fields if field.name not in left]
    arrow = schema_to_pyarrow(Schema(*fields), include_field_ids=False)
    return {field.name: field.type for field in arrow}


def with_structs_in_lists(schema: Schema) -> list[str]:
    """Name the columns that have a list or a map of structs anywhere inside."""
    return [
        field.name
        for field in schema.fields
        if any(
            (isinstance(one, ListType) and isinstance(one.element_type, StructType))
            or (isinstance(one, MapType) and isinstance(one.value_type, StructType))
            for one in (inside.field_type for inside in index_by_id(Schema(field)).values())
        )
    ]


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
