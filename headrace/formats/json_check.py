"""What is wrong with a parsed JSON value, as one sentence per record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.formats.json_types import changes, from_json_value
from headrace.schema.model import Array, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from headrace.schema.model import Field, Type


def first_problem(value: Column, record: Record) -> Column:
    """Return what is wrong with a parsed record; null where nothing is."""
    found = list(_record_problems(value, record, ""))
    return F.coalesce(*found) if found else F.lit(None).cast("string")


def _record_problems(value: Column, record: Record, prefix: str) -> Iterator[Column]:
    for field in record.fields:
        yield from _field_problems(value[field.name], field, f"{prefix}{field.name}")


def _field_problems(value: Column, field: Field, path: str) -> Iterator[Column]:
    if not field.nullable and field.default is None:
        yield F.when(value.isNull(), F.lit(f"{path} is missing"))
    match field.type:
        case Record():
            inside = list(_record_problems(value, field.type, f"{path}."))
            if inside:
                yield F.when(value.isNotNull(), F.coalesce(*inside))
        case Array() | Map():
            if changes(field.type):
                text = F.lit(f"{path} has an item that is no {_item_name(field.type)}")
                yield F.when(_is_broken(value, field.type), text)
        case _:
            if changes(field.type):
                shown = F.substring(value.cast("string"), 1, 40)
                text = F.concat(F.lit(f"{path} is no {type_name(field.type)}: "), shown)
                yield F.when(_is_broken(value, field.type), text)


def _is_broken(value: Column, kind: Type) -> Column:
    """Whether a value, or something inside it, is there and is not of its type."""
    match kind:
        case Record():
            broken = _no()
            for field in kind.fields:
                broken = broken | _is_broken(value[field.name], field.type)
            return value.isNotNull() & broken
        case Array():
            item = kind.item
            return F.coalesce(F.exists(value, lambda one: _is_broken(one, item)), _no())
        case Map():
            inner = kind.value
            values = F.map_values(value)
            return F.coalesce(F.exists(values, lambda one: _is_broken(one, inner)), _no())
        case _:
            if not changes(kind):
                return _no()
            return value.isNotNull() & from_json_value(value, kind).isNull()


def type_name(kind: Type) -> str:
    """Return what a type is called in a message."""
    return kind.value if isinstance(kind, Primitive) else type(kind).__name__.lower()


def _no() -> Column:
    return F.expr("false")


def _item_name(kind: Array | Map) -> str:
    return type_name(kind.item if isinstance(kind, Array) else kind.value)
