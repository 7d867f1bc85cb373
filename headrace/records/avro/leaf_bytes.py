"""Avro's bytes for a value without parts. A wrong value raises BadRecord, or Python's own error."""

from __future__ import annotations

import decimal
import struct
from typing import TYPE_CHECKING, Final

from headrace.records.rows import BadRecord

if TYPE_CHECKING:
    from collections.abc import Callable

NULL_LAST: Final = (b"\x02", b"\x00")
NULL_FIRST: Final = (b"\x00", b"\x02")
BOOLEANS: Final = {False: b"\x00", True: b"\x01"}
float_bytes: Final = struct.Struct("<f").pack
double_bytes: Final = struct.Struct("<d").pack

_ONE_BYTE: Final = tuple(bytes([number]) for number in range(128))
_INEXACT: Final = decimal.Context(prec=60, traps=[decimal.Inexact, decimal.InvalidOperation])


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
