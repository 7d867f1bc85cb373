"""What is wrong with a parsed JSON value, as one sentence per record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.formats.json_types import changes, from_json_value
from headrace.schema.model import Array, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from headrace.schema.model import Field, Type

FLOATING = (Primitive.FLOAT, Primitive.DOUBLE)


def first_problem(value: Column, record: Record, text: Column) -> Column:
    """Return what is wrong with a record that was parsed from that text; null where nothing is."""
    found = list(_Check(text).record_problems(value, record, ""))
    return F.coalesce(*found) if found else F.lit(None).cast("string")


@dataclass(frozen=True, slots=True)
class _Check:
    text: Column

    def record_problems(self, value: Column, record: Record, prefix: str) -> Iterator[Column]:
        for field in record.fields:
            yield from self._field_problems(value[field.name], field, f"{prefix}{field.name}")

    def _field_problems(self, value: Column, field: Field, path: str) -> Iterator[Column]:
        if _required(field):
            yield F.when(value.isNull(), F.lit(f"{path} is missing"))
        match field.type:
            case Record():
                inside = list(self.record_problems(value, field.type, f"{path}."))
                if inside:
                    yield F.when(value.isNotNull(), F.coalesce(*inside))
            case Array() | Map():
                if _can_break(field.type):
                    text = F.lit(f"{path} has an item that is no {_item_name(field.type)}")
                    yield F.when(self._is_broken(value, field.type), text)
            case _:
                if _can_break(field.type):
                    shown = F.substring(value.cast("string"), 1, 40)
                    text = F.concat(F.lit(f"{path} is no {type_name(field.type)}: "), shown)
                    yield F.when(self._is_broken(value, field.type), text)

    def _is_broken(self, value: Column, kind: Type) -> Column:
        """Whether a value is there, and is not of its type or lacks something inside."""
        match kind:
            case Record():
                broken = _no()
                for field in kind.fields:
                    broken |= self._lacks(value[field.name], field.type, needed=_required(field))
                return value.isNotNull() & broken
            case Array():
                item, needed = kind.item, not kind.item_nullable
                lacks = F.exists(value, lambda one: self._lacks(one, item, needed=needed))
                return F.coalesce(lacks, _no())
            case Map():
                inner, needed = kind.value, not kind.value_nullable
                values = F.map_values(value)
                lacks = F.exists(values, lambda one: self._lacks(one, inner, needed=needed))
                return F.coalesce(lacks, _no())
            case _ if kind in FLOATING:
                # A number too large for its type was read as infinite; one may also say so.
                infinite = F.coalesce(F.abs(value) == F.lit(float("inf")), _no())
                return infinite & ~self.text.rlike("(?i)inf")
            case _ if changes(kind):
                return value.isNotNull() & from_json_value(value, kind).isNull()
            case _:
                return _no()

    def _lacks(self, value: Column, kind: Type, *, needed: bool) -> Column:
        broken = self._is_broken(value, kind)
        return value.isNull() | broken if needed else broken


def _required(field: Field) -> bool:
    return not field.nullable and field.default is None


def _can_break(kind: Type) -> bool:
    """Whether a parsed value may still not be of its type, itself or inside."""
    match kind:
        case Record():
            return any(_required(field) or _can_break(field.type) for field in kind.fields)
        case Array():
            return not kind.item_nullable or _can_break(kind.item)
        case Map():
            return not kind.value_nullable or _can_break(kind.value)
        case _:
            return kind in FLOATING or changes(kind)


def type_name(kind: Type) -> str:
    """Return what a type is called in a message."""
    return kind.value if isinstance(kind, Primitive) else type(kind).__name__.lower()


def _no() -> Column:
    return F.expr("false")


def _item_name(kind: Array | Map) -> str:
    return type_name(kind.item if isinstance(kind, Array) else kind.value)
