"""Whether a data file's columns are its table's: the same ids, names and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.types import ListType, MapType, StructType

if TYPE_CHECKING:
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
