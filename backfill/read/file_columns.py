"""Whether a data file's columns are its table's: the same ids, names and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, MapType, StructType

from headrace.contract import INGESTION_TS, METADATA, RECORD
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa
    from pyiceberg.types import IcebergType


def same_columns(held: IcebergType, wanted: IcebergType) -> bool:
    """Whether a file's type is the table's in all but comments.

    A column that may be null in the table and is never so in the file is the same column.
    """
    match held, wanted:
        case StructType(), StructType():
            return len(held.fields) == len(wanted.fields) and all(
                (one.field_id, one.name) == (other.field_id, other.name)
                and (one.required or other.optional)
                and same_columns(one.field_type, other.field_type)
                for one, other in zip(held.fields, wanted.fields, strict=True)
            )
        case ListType(), ListType():
            return (
                held.element_id == wanted.element_id
                and (held.element_required or not wanted.element_required)
                and same_columns(held.element_type, wanted.element_type)
            )
        case MapType(), MapType():
            return (
                (held.key_id, held.value_id) == (wanted.key_id, wanted.value_id)
                and (held.value_required or not wanted.value_required)
                and same_columns(held.key_type, wanted.key_type)
                and same_columns(held.value_type, wanted.value_type)
            )
        case _:
            return held == wanted


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


def holds_structs_in_lists(kind: IcebergType) -> bool:
    """Whether a type has a list or a map of structs anywhere inside."""
    match kind:
        case ListType():
            inner = kind.element_type
            return isinstance(inner, StructType) or holds_structs_in_lists(inner)
        case MapType():
            inner = kind.value_type
            return isinstance(inner, StructType) or holds_structs_in_lists(inner)
        case StructType():
            return any(holds_structs_in_lists(field.field_type) for field in kind.fields)
        case _:
            return False


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
