"""Rows to JSON: times as ISO-8601, bytes as base64, decimals as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from headrace.floats import json_number, shortest
from headrace.records.codegen import function
from headrace.records.parts import as_objects
from headrace.records.rows import attribute, row_class
from headrace.records.times import date_text, instant_text, wall_clock_text
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from headrace.records.parts import Change
    from headrace.records.rows import Row
    from headrace.schema.model import Record


class JsonWriter:
    """Writes the rows of a schema."""

    def __init__(self, schema: Record) -> None:
        self._made = row_class(schema)
        self._encode = msgspec.json.Encoder(decimal_format="number").encode
        self._fields = [
            (attribute(number), as_objects(field.type, _WRITTEN))
            for number, field in enumerate(schema.fields)
        ]
        whole, names = self.source([f"row.{field}" for field, _ in self._fields], "own_")
        self._write = function("write_json", ["row"], [f"return {whole}"], names)

    def __call__(self, row: Row) -> bytes:
        """Return the JSON object of a row."""
        written: bytes = self._write(row)
        return written

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


_WRITTEN: Final[dict[Primitive, Change]] = {
    Primitive.FLOAT: lambda value: json_number(shortest(value)),
    Primitive.DOUBLE: json_number,
    Primitive.DATE: date_text,
    Primitive.TIMESTAMP_MILLIS: instant_text,
    Primitive.TIMESTAMP_MICROS: instant_text,
    Primitive.LOCAL_TIMESTAMP_MILLIS: wall_clock_text,
    Primitive.LOCAL_TIMESTAMP_MICROS: wall_clock_text,
}
