"""Spark's own hash functions at run time: Murmur3 and xxHash64, both begun with 42."""

from __future__ import annotations

import struct
from typing import Final

from xxhash import xxh64_intdigest

_INT: Final = 0xFFFF_FFFF
SEED: Final = 42
_WORD: Final = struct.Struct("<I")
_SIGNED_WORD: Final = struct.Struct("<i")
_SIGNED_LONG: Final = struct.Struct("<q")


def murmur(*values: str | bytes | int | tuple[int] | None) -> int:
    """Return hash(). A long is a tuple of itself, an int stands alone, null changes nothing."""
    hashed = SEED
    for value in values:
        match value:
            case None:
                continue
            case str():
                hashed = _murmur_bytes(value.encode(), hashed)
            case bytes():
                hashed = _murmur_bytes(value, hashed)
            case int():
                hashed = _end(_mixed(hashed, value & _INT), 4)
            case (number,):
                low = _mixed(hashed, number & _INT)
                hashed = _end(_mixed(low, number >> 32 & _INT), 8)
    return hashed - (1 << 32) if hashed >> 31 else hashed


def _murmur_bytes(data: bytes, seed: int) -> int:
    whole = len(data) & ~3
    hashed = seed
    for (value,) in _WORD.iter_unpack(data[:whole]):
        # As _mixed does it, which would cost as much again for the call.
        word = value * 0xCC9E2D51 & _INT
        hashed ^= (word << 15 | word >> 17) * 0x1B873593 & _INT
        hashed = ((hashed << 13 | hashed >> 19) & _INT) * 5 + 0xE6546B64 & _INT
    for byte in data[whole:]:
        # Spark takes each byte that is left as a number with a sign.
        hashed = _mixed(hashed, (byte - 256 if byte > 127 else byte) & _INT)
    return _end(hashed, len(data))


def _mixed(hashed: int, value: int) -> int:
    value = value * 0xCC9E2D51 & _INT
    value = (value << 15 | value >> 17) & _INT
    hashed ^= value * 0x1B873593 & _INT
    hashed = (hashed << 13 | hashed >> 19) & _INT
    return hashed * 5 + 0xE6546B64 & _INT


def _end(hashed: int, length: int) -> int:
    hashed ^= length
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _INT
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _INT
    return hashed ^ hashed >> 16


def xxhash(*values: str | bytes | int | tuple[int] | None) -> int:
    """Return xxhash64(). A long is a tuple of itself, an int stands alone, null changes nothing."""
    hashed = SEED
    for value in values:
        match value:
            case None:
                continue
            case str():
                hashed = xxh64_intdigest(value.encode(), hashed)
            case bytes():
                hashed = xxh64_intdigest(value, hashed)
            case int():
                hashed = xxh64_intdigest(_SIGNED_WORD.pack(value), hashed)
            case (number,):
                hashed = xxh64_intdigest(_SIGNED_LONG.pack(number), hashed)
    return hashed - (1 << 64) if hashed >> 63 else hashed
