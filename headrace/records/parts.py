"""What is done to the items of lists and maps and to the fields of records, whatever it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.records.rows import FieldValue, attribute
from headrace.schema.model import Array, Many, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.schema.model import Type

    # A value that is not null, to another one.
    Change: TypeAlias = Callable[[FieldValue], FieldValue]


def each_item(kind: Many, change: Change) -> Change:
    """Return what changes the items of a list, or of a map, that are not null."""
    if isinstance(kind, Array):
        return lambda items: [None if one is None else change(one) for one in items]
    return lambda items: {key: None if one is None else change(one) for key, one in items.items()}


def as_objects(kind: Type, leaves: Mapping[Primitive, Change]) -> Change | None:
    """Return what makes of rows objects by their fields' names, and of other values what is said.

    None where a value stays what it is.
    """
    match kind:
        case Primitive():
            return leaves.get(kind)
        case Many():
            inner = as_objects(kind.item, leaves)
            return inner and each_item(kind, inner)
        case Record():
            parts = [
                (attribute(number), field.name, as_objects(field.type, leaves))
                for number, field in enumerate(kind.fields)
            ]
            return lambda row: {
                name: value if change is None or value is None else change(value)
                for own, name, change in parts
                for value in (getattr(row, own),)
            }
    return None
