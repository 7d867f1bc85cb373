"""Writes records as Avro, with the id of their schema before them."""

from __future__ import annotations

import decimal
import struct
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from headrace.records.codegen import Names, function
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
NULL_LAST: Final = (b"\x02", b"\x00")
NULL_FIRST: Final = (b"\x00", b"\x02")
BOOLEANS: Final = {False: b"\x00", True: b"\x01"}

_ONE_BYTE: Final = tuple(bytes([number]) for number in range(128))
_INEXACT: Final = decimal.Context(prec=60, traps=[decimal.Inexact, decimal.InvalidOperation])


class AvroWriter:
    """Writes records of one schema. A record that does not fit it is a BadRecord.

    A time finer than the schema's milliseconds is cut off to them.
    """

    def __init__(self, schema: Record, schema_id: int) -> None:
        self._schema = schema
        source = _Source()
        self._parts = source.fields(schema, "row")
        self._names = {**source.names.objects, "prefix": id_prefix(schema_id)}
        whole = f"return join((prefix, {', '.join(self._parts)}))"
        self._write = function("write", ["row"], [whole], self._names)

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
        self.names = Names(
            {
                "join": b"".join,
                "long_bytes": long_bytes,
                "text_bytes": text_bytes,
                "many_bytes": many_bytes,
                "BOOLEANS": BOOLEANS,
            }
        )
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
        null, other = NULL_LAST if null_last else NULL_FIRST
        return f"({null!r} if {value} is None else {other!r} + {written})"

    def _value(self, kind: Type, value: str) -> str:
        match kind:
            case Record():
                return f"join(({', '.join(self.fields(kind, value))},))"
            case Array() | Map():
                return self._many(kind, value)
            case Enumeration():
                numbers = {s: long_bytes(n) for n, s in enumerate(kind.symbols)}
                return f"{self.names.name(numbers)}[{value}]"
            case Fixed():
                return f"{self.names.name(fixed_bytes(kind.size))}({value})"
            case Decimal():
                size = kind.fixed.size if kind.fixed else None
                write = decimal_bytes(kind.precision, kind.scale, size)
                return f"{self.names.name(write)}({value})"
            case Primitive.BOOLEAN:
                return f"BOOLEANS[{value}]"
            case Primitive.TIMESTAMP_MILLIS | Primitive.LOCAL_TIMESTAMP_MILLIS:
                return f"long_bytes({value} // 1000)"
        return f"{self.names.name(_PLAIN[LOGICAL.get(kind, kind)])}({value})"

    def _many(self, kind: Array | Map, value: str) -> str:
        self._variables += 1
        one, key = f"item{self._variables}", f"key{self._variables}"
        inner = self._slot(kind.item, kind.item_nullable, kind.item_null_last, one)
        if isinstance(kind, Map):
            return f"many_bytes([text_bytes({key}) + {inner} for {key}, {one} in {value}.items()])"
        return f"many_bytes([{inner} for {one} in {value}])"


def long_bytes(value: int) -> bytes:
    """Return a number's bytes: seven bits each, the sign in the lowest."""
    number = (value << 1) ^ (value >> 63)
    if number < 128:
        return _ONE_BYTE[number]
    if number >> 64:
        raise BadRecord("no number of 64 bits")
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


def int_bytes(value: int) -> bytes:
    """Return a number's bytes, which Avro writes as a long's."""
    if not -0x80000000 <= value <= 0x7FFFFFFF:
        raise BadRecord("no number of 32 bits")
    return long_bytes(value)


def bytes_bytes(value: bytes) -> bytes:
    """Return bytes with their length before them."""
    return long_bytes(len(value)) + value


def text_bytes(value: str) -> bytes:
    """Return a text's bytes with their length before them."""
    encoded = value.encode()
    return long_bytes(len(encoded)) + encoded


def many_bytes(items: list[bytes]) -> bytes:
    """Return items as one block, and the zero that ends the blocks."""
    return long_bytes(len(items)) + b"".join(items) + b"\x00" if items else b"\x00"


def fixed_bytes(size: int) -> Callable[[bytes], bytes]:
    """Return what gives so many bytes."""

    def write(value: bytes) -> bytes:
        if len(value) != size:
            raise BadRecord(f"not {size} bytes")
        return b"" + value

    return write


def decimal_bytes(
    precision: int, scale: int, size: int | None
) -> Callable[[decimal.Decimal], bytes]:
    """Return what gives a decimal's bytes; `size` is that of its fixed."""

    def write(value: decimal.Decimal) -> bytes:
        unscaled = value.scaleb(scale, _INEXACT)
        # Before the number is made: 1e999999 has a million digits.
        if unscaled.adjusted() >= precision and unscaled:
            raise BadRecord(f"no decimal of {precision} digits")
        number = int(unscaled)
        if number != unscaled:
            raise BadRecord(f"no decimal with {scale} digits after the point")
        if size is not None:
            return number.to_bytes(size, "big", signed=True)
        few = (number + (number < 0)).bit_length() // 8 + 1
        return bytes_bytes(number.to_bytes(few, "big", signed=True))

    return write


_PLAIN: Final[dict[Primitive, Callable[[Any], bytes]]] = {
    Primitive.INT: int_bytes,
    Primitive.LONG: long_bytes,
    Primitive.FLOAT: struct.Struct("<f").pack,
    Primitive.DOUBLE: struct.Struct("<d").pack,
    Primitive.STRING: text_bytes,
    Primitive.BYTES: bytes_bytes,
}
