"""Rows to JSON: times as ISO-8601, bytes as base64, decimals as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from headrace.floats import json_number, shortest
from headrace.records.rows import FieldValue, Row, attribute, row_class
from headrace.records.times import date_text, instant_text, wall_clock_text
from headrace.schema.model import Array, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.schema.model import Type

    Write: TypeAlias = Callable[[FieldValue], FieldValue]


class JsonWriter:
    """Writes the rows of a schema."""

    def __init__(self, schema: Record) -> None:
        self._made = row_class(schema)
        self._encode = msgspec.json.Encoder(decimal_format="number").encode
        self._fields = [
            (attribute(number), shown(field.type)) for number, field in enumerate(schema.fields)
        ]

    def __call__(self, row: Row) -> bytes:
        """Return the JSON object of a row."""
        values = (_written(getattr(row, name), write) for name, write in self._fields)
        return self._encode(self._made(*values))

    def source(self, values: list[str], prefix: str) -> tuple[str, dict[str, object]]:
        """Return an expression for the bytes of a row of those expressions, and what it uses."""
        names: dict[str, object] = {f"{prefix}encode": self._encode, f"{prefix}row": self._made}
        shown_values: list[str] = []
        for (field, write), value in zip(self._fields, values, strict=True):
            if write is None:
                shown_values.append(value)
                continue
            names[f"{prefix}{field}"] = write
            local = f"{prefix}v"
            shown_values.append(
                f"(None if ({local} := {value}) is None else {prefix}{field}({local}))"
            )
        return f"{prefix}encode({prefix}row({', '.join(shown_values)}))", names


def shown(kind: Type) -> Write | None:
    """Return what JSON holds for a value; None where it holds the value itself."""
    match kind:
        case Primitive():
            return _PRIMITIVE.get(kind)
        case Array():
            item = shown(kind.item)
            return None if item is None else lambda values: [_written(one, item) for one in values]
        case Map():
            inner = shown(kind.value)
            return None if inner is None else lambda values: _each(values, inner)
        case Record():
            return _object_writer(kind)
        case _:
            return None


def _object_writer(record: Record) -> Write:
    # A new object each time: the row may be of a class that has other names, or other types.
    fields = [
        (attribute(number), field.name, shown(field.type))
        for number, field in enumerate(record.fields)
    ]
    return lambda row: {
        name: _written(getattr(row, attribute_name), write)
        for attribute_name, name, write in fields
    }


def _each(values: dict[str, FieldValue], write: Write) -> dict[str, FieldValue]:
    return {name: _written(one, write) for name, one in values.items()}


def _written(value: FieldValue, write: Write | None) -> FieldValue:
    return value if write is None or value is None else write(value)


def _single(value: float) -> float | str:
    return json_number(shortest(value))


_PRIMITIVE: Final[dict[Primitive, Write]] = {
    Primitive.FLOAT: _single,
    Primitive.DOUBLE: json_number,
    Primitive.DATE: date_text,
    Primitive.TIMESTAMP_MILLIS: instant_text,
    Primitive.TIMESTAMP_MICROS: instant_text,
    Primitive.LOCAL_TIMESTAMP_MILLIS: wall_clock_text,
    Primitive.LOCAL_TIMESTAMP_MICROS: wall_clock_text,
}
