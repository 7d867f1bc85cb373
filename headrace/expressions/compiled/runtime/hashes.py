"""Spark's own hash functions at run time: Murmur3 and xxHash64, both begun with 42."""

from __future__ import annotations

import struct
from typing import Final

_INT: Final = 0xFFFF_FFFF
_LONG: Final = 0xFFFF_FFFF_FFFF_FFFF
_P1: Final = 0x9E3779B185EBCA87
_P2: Final = 0xC2B2AE3D27D4EB4F
_P3: Final = 0x165667B19E3779F9
_P4: Final = 0x85EBCA77C2B2AE63
_P5: Final = 0x27D4EB2F165667C5
SEED: Final = 42
_WORD: Final = struct.Struct("<I")


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
    """Return xxhash64(). A long is a tuple of itself, an int stands alone."""
    hashed = SEED
    for value in values:
        match value:
            case None:
                continue
            case str():
                hashed = _xx_bytes(value.encode(), hashed)
            case bytes():
                hashed = _xx_bytes(value, hashed)
            case int():
                begun = hashed + _P5 + 4 & _LONG
                begun ^= (value & _INT) * _P1 & _LONG
                hashed = _avalanche(_turned(begun, 23) * _P2 + _P3 & _LONG)
            case (number,):
                begun = hashed + _P5 + 8 & _LONG
                hashed = _avalanche(_eight(begun, number & _LONG))
    return hashed - (1 << 64) if hashed >> 63 else hashed


def _xx_bytes(data: bytes, seed: int) -> int:
    length = len(data)
    at = 0
    if length >= 32:
        lanes = [seed + _P1 + _P2 & _LONG, seed + _P2 & _LONG, seed, seed - _P1 & _LONG]
        for at in range(0, length - 31, 32):
            for lane in range(4):
                word = _word(data, at + 8 * lane, 8)
                lanes[lane] = _turned(lanes[lane] + word * _P2 & _LONG, 31) * _P1 & _LONG
        at += 32
        hashed = _merged(lanes)
    else:
        hashed = seed + _P5 & _LONG
    return _avalanche(_tail(data, at, hashed + length & _LONG))


def _merged(lanes: list[int]) -> int:
    hashed = sum(_turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    hashed &= _LONG
    for lane in lanes:
        hashed ^= _turned(lane * _P2 & _LONG, 31) * _P1 & _LONG
        hashed = hashed * _P1 + _P4 & _LONG
    return hashed


def _tail(data: bytes, at: int, hashed: int) -> int:
    length = len(data)
    while at + 8 <= length:
        hashed = _eight(hashed, _word(data, at, 8))
        at += 8
    if at + 4 <= length:
        hashed ^= _word(data, at, 4) * _P1 & _LONG
        hashed = _turned(hashed, 23) * _P2 + _P3 & _LONG
        at += 4
    for byte in data[at:]:
        hashed ^= byte * _P5 & _LONG
        hashed = _turned(hashed, 11) * _P1 & _LONG
    return hashed


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _eight(hashed: int, word: int) -> int:
    hashed ^= _turned(word * _P2 & _LONG, 31) * _P1 & _LONG
    return _turned(hashed, 27) * _P1 + _P4 & _LONG


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _LONG


def _avalanche(hashed: int) -> int:
    hashed = (hashed ^ hashed >> 33) * _P2 & _LONG
    hashed = (hashed ^ hashed >> 29) * _P3 & _LONG
    return hashed ^ hashed >> 32
