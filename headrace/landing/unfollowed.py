"""Records of a schema that is not followed: one with a field of its own is kept aside, not cut.

While a change of a schema is refused, records are read by the schema before it. What they have
beyond that would be left out of the row, and be missed by nobody.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from headrace.records.rows import attribute
from headrace.schema.model import Array, Field, Many, Map, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.records.rows import FieldValue
    from headrace.schema.model import Type

    # The name of the first field that is not followed, None where a value has none.
    Find: TypeAlias = Callable[[FieldValue], str | None]


def with_unfollowed(schema: Record, refused: Record) -> Record:
    """Return the schema, and after its own fields those that only the refused one has."""
    others = {field.name: field.type for field in refused.fields}
    fields = [
        replace(field, type=_merged(field.type, others.get(field.name, field.type)))
        for field in schema.fields
    ]
    known = {field.name.casefold() for field in schema.fields}
    new = [
        Field(field.name, field.type, nullable=True, default="null")
        for field in refused.fields
        if field.name.casefold() not in known
    ]
    return replace(schema, fields=(*fields, *new))


def unfollowed_in(schema: Record, whole: Record) -> Find:
    """Return what names the first field of a row that only the refused schema has."""
    return _finder(schema, whole) or _nothing


def _merged(own: Type, other: Type) -> Type:
    match own, other:
        case Record(), Record():
            return with_unfollowed(own, other)
        case Many(), Many() if type(own) is type(other):
            return replace(own, item=_merged(own.item, other.item))
    return own


def _finder(own: Type, whole: Type) -> Find | None:
    match own, whole:
        case Record(), Record():
            return _in_record(own, whole)
        case Array(), Array():
            item = _finder(own.item, whole.item)
            return item and (lambda many: _first(item, many))
        case Map(), Map():
            value = _finder(own.item, whole.item)
            return value and (lambda many: _first(value, many.values()))
    return None


def _in_record(own: Record, whole: Record) -> Find | None:
    inside = [
        (attribute(number), field.name, find)
        for number, field in enumerate(own.fields)
        if (find := _finder(field.type, whole.fields[number].type)) is not None
    ]
    names = [(attribute(number), field.name) for number, field in enumerate(whole.fields)]
    new = names[len(own.fields) :]
    if not inside and not new:
        return None

    def find_in(row: FieldValue) -> str | None:
        for name, shown in new:
            if getattr(row, name) is not None:
                return shown
        for name, shown, find in inside:
            value = getattr(row, name)
            found = None if value is None else find(value)
            if found is not None:
                return f"{shown}.{found}"
        return None

    return find_in


def _first(find: Find, values: Iterable[FieldValue]) -> str | None:
    return next((name for one in values if one is not None and (name := find(one))), None)


def _nothing(_: FieldValue) -> None:
    """Find nothing."""
