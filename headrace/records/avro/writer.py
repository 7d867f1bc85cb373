"""Writes records as Avro, with the id of their schema before them."""

from __future__ import annotations

import decimal
import struct
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from headrace.records.avro import leaf_bytes
from headrace.records.codegen import function
from headrace.records.framing import id_prefix
from headrace.records.rows import BadRecord, attribute
from headrace.schema.avro_words import LOGICAL
from headrace.schema.fit import type_word
from headrace.schema.model import Array, Decimal, Enumeration, Fixed, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.records.rows import Row
    from headrace.schema.model import Field, Type

_WRONG: Final = (
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    ArithmeticError,
    struct.error,
    decimal.DecimalException,
    BadRecord,
)
_IN_MILLISECONDS: Final = (Primitive.TIMESTAMP_MILLIS, Primitive.LOCAL_TIMESTAMP_MILLIS)
_PLAIN: Final = {
    "int": "int_bytes",
    "long": "long_bytes",
    "float": "float_bytes",
    "double": "double_bytes",
    "string": "text_bytes",
    "bytes": "bytes_bytes",
}


class AvroWriter:
    """Writes records of one schema. A record that does not fit it is a BadRecord.

    A time finer than the schema's milliseconds is cut off to them.
    """

    def __init__(self, schema: Record, schema_id: int) -> None:
        self._schema = schema
        source = _Source()
        parts = source.fields(schema, "row")
        source.names["prefix"] = id_prefix(schema_id)
        whole = f"return join((prefix, {', '.join(parts)}))"
        self._write = function("write", ["row"], [whole], source.names)
        self._names = source.names
        self._parts = parts

    def __call__(self, row: Row) -> bytes:
        """Return the record's bytes."""
        try:
            written: bytes = self._write(row)
        except _WRONG as error:
            raise self._blame(row, error) from None
        return written

    def _blame(self, row: Row, error: Exception) -> BadRecord:
        """Find the field that is wrong; it is looked for only after an error."""
        for number, (field, write) in enumerate(zip(self._schema.fields, self._each, strict=True)):
            try:
                write(row)
            except _WRONG as found:
                return _bad(field, getattr(row, attribute(number), None), found)
        return BadRecord(f"it cannot be written as Avro ({error})", kind="schema")

    @cached_property
    def _each(self) -> list[Callable[[Row], bytes]]:
        """What writes each field alone; made once, for bad records may be many."""
        return [
            function("write_field", ["row"], [f"return join(({part},))"], self._names)
            for part in self._parts
        ]


def _bad(field: Field, value: object, error: Exception) -> BadRecord:
    if value is None:
        reason = f"{field.name} is missing"
    elif isinstance(error, BadRecord):
        reason = f"{field.name} is {error.reason}"
    elif isinstance(field.type, Enumeration):
        reason = f"{field.name} is not a symbol of {field.type.name}"
    else:
        reason = f"{field.name} is no {type_word(field.type)}"
    return BadRecord(reason, kind="schema")


class _Source:
    """The expressions that give each value's bytes; `names` are the objects they refer to."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {
            name: getattr(leaf_bytes, name) for name in (*_PLAIN.values(), "many_bytes", "BOOLEANS")
        }
        self.names["join"] = b"".join
        self._variables = 0

    def fields(self, record: Record, row: str) -> list[str]:
        """Return an expression for each field of that row."""
        return [
            self._slot(field.type, field.nullable, field.null_last, f"{row}.{attribute(number)}")
            for number, field in enumerate(record.fields)
        ]

    def _slot(self, kind: Type, nullable: bool, null_last: bool, value: str) -> str:
        written = self._value(kind, value)
        if not nullable:
            return written
        null, other = leaf_bytes.NULL_LAST if null_last else leaf_bytes.NULL_FIRST
        return f"({null!r} if {value} is None else {other!r} + {written})"

    def _value(self, kind: Type, value: str) -> str:
        match kind:
            case Record():
                return f"join(({', '.join(self.fields(kind, value))},))"
            case Array() | Map():
                return self._many(kind, value)
            case Enumeration():
                numbers = {s: leaf_bytes.long_bytes(n) for n, s in enumerate(kind.symbols)}
                return f"{self._name(numbers)}[{value}]"
            case Fixed():
                return f"{self._name(leaf_bytes.fixed_bytes(kind.size))}({value})"
            case Decimal():
                size = kind.fixed.size if kind.fixed else None
                write = leaf_bytes.decimal_bytes(kind.precision, kind.scale, size)
                return f"{self._name(write)}({value})"
        return _primitive(kind, value)

    def _many(self, kind: Array | Map, value: str) -> str:
        self._variables += 1
        one, key = f"item{self._variables}", f"key{self._variables}"
        inner = self._slot(kind.item, kind.item_nullable, kind.item_null_last, one)
        if isinstance(kind, Map):
            return f"many_bytes([text_bytes({key}) + {inner} for {key}, {one} in {value}.items()])"
        return f"many_bytes([{inner} for {one} in {value}])"

    def _name(self, value: object) -> str:
        name = f"o{len(self.names)}"
        self.names[name] = value
        return name


def _primitive(kind: Primitive, value: str) -> str:
    if kind is Primitive.BOOLEAN:
        return f"BOOLEANS[{value}]"
    if kind in _IN_MILLISECONDS:
        return f"long_bytes({value} // 1000)"
    return f"{_PLAIN[LOGICAL.get(kind, kind).value]}({value})"
