"""Texts at run time: places are counted in characters, and from 1."""

from __future__ import annotations

import base64 as _base64
import hashlib
import zlib
from typing import TYPE_CHECKING, Final

from headrace.expressions.lane.undefined import Undefined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LOWEST_INT: Final = -(2**31)
_LARGEST_INT: Final = 2**31 - 1
# Far longer than a record, and short enough that one record cannot take the memory of a task.
LONGEST_RESULT: Final = 2**24


def bounded(length: int) -> int:
    """Return the length of a result, which has to be one that a record can have."""
    if length > LONGEST_RESULT:
        raise Undefined(f"the result is longer than {LONGEST_RESULT:,} characters")
    return length


def part(text: str, place: int, length: int) -> str:
    """Return substring(): a place below 0 counts from the end, and may lie before the text."""
    start = place - 1 if place > 0 else len(text) + place if place < 0 else 0
    end = start + length
    return text[max(start, 0) : end] if end > 0 else ""


def bytes_part(value: bytes, place: int, length: int) -> bytes:
    """Return substring() of bytes."""
    start = place - 1 if place > 0 else len(value) + place if place < 0 else 0
    end = start + length
    return value[max(start, 0) : end] if end > 0 else b""


def last(text: str, length: int) -> str:
    """Return right(): the last characters."""
    return text[-length:] if length > 0 else ""


def first(text: str, length: int) -> str:
    """Return left(): the first characters."""
    return text[:length] if length > 0 else ""


def replaced(text: str, old: str, new: str) -> str:
    """Return replace(), which leaves a text alone where the old part is empty."""
    if not old:
        return text
    if len(new) > len(old):
        bounded(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def place_of(part_: str, text: str, start: int) -> int:
    """Return locate(): the place of a part from a place on, 0 where it is not there."""
    if start < 1:
        return 0
    return text.find(part_, start - 1) + 1 if part_ else 1


def padded_left(text: str, length: int, pad: str) -> str:
    """Return lpad(): exactly that long, cut or padded."""
    missing = length - len(text)
    if missing <= 0 or not pad:
        return first(text, length)
    bounded(length)
    return (pad * (missing // len(pad) + 1))[:missing] + text


def padded_right(text: str, length: int, pad: str) -> str:
    """Return rpad(): exactly that long, cut or padded."""
    missing = length - len(text)
    if missing <= 0 or not pad:
        return first(text, length)
    bounded(length)
    return text + (pad * (missing // len(pad) + 1))[:missing]


def repeated(text: str, times: int) -> str:
    """Return repeat()."""
    bounded(len(text) * times)
    return text * times


def split_part(text: str, separator: str, place: int) -> str:
    """Return one part of a text that is cut at a separator; a place below 0 counts from the end."""
    if place in {0, _LOWEST_INT}:
        raise Undefined("split_part() counts from 1")
    parts = text.split(separator) if separator else [text]
    if abs(place) > len(parts):
        return ""
    return parts[place - 1 if place > 0 else place]


def before_sign(text: str, sign: str, count: int) -> str:
    """Return substring_index(): what is before the nth sign, or behind it from the end."""
    if count == _LOWEST_INT:
        raise Undefined("substring_index() counts from -2147483647")
    if not sign or count == 0:
        return ""
    if count < 0:
        return before_sign(text[::-1], sign[::-1], -count)[::-1]
    at, find = -1, text.find
    for _ in range(count):
        # Spark moves by one character, and signs may overlap.
        at = find(sign, at + 1)
        if at < 0:
            return text
    return text[:at]


def translated(text: str, old: str, new: str) -> str:
    """Return translate(): each sign by the one at its place, or by none; the first place counts."""
    signs: dict[int, str] = {}
    for place, sign in enumerate(old):
        signs.setdefault(ord(sign), new[place : place + 1])
    return text.translate(signs)


def joined(separator: str, parts: Iterable[str | None]) -> str:
    """Return concat_ws(): parts that are null are left out."""
    there = [one for one in parts if one is not None]
    bounded(sum(map(len, there)) + len(separator) * max(len(there) - 1, 0))
    return separator.join(there)


def stripped(text: str, signs: str) -> str:
    """Return trim() of any of these signs."""
    return trimmed_left(trimmed_right(text, signs), signs)


def trimmed_left(text: str, signs: str) -> str:
    """Return ltrim()."""
    if len(signs) <= _FEW:
        return text.lstrip(signs)
    known = set(signs)
    return text[next((at for at, sign in enumerate(text) if sign not in known), len(text)) :]


def trimmed_right(text: str, signs: str) -> str:
    """Return rtrim()."""
    if len(signs) <= _FEW:
        return text.rstrip(signs)
    known = set(signs)
    kept = next((at for at, sign in enumerate(reversed(text)) if sign not in known), len(text))
    return text[: len(text) - kept]


# Python looks through all of the signs for each character.
_FEW: Final = 64


def put_together(*parts: str) -> str:
    """Return concat() of many texts."""
    bounded(sum(map(len, parts)))
    return "".join(parts)


def code_of(text: str) -> int:
    """Return ascii(): the code point of the first character, 0 where there is none."""
    return ord(text[0]) if text else 0


def sign_of_code(code: int) -> str:
    """Return chr(): the character of the code's lowest eight bits."""
    return "" if code < 0 else chr(code & 0xFF)


def base64(value: bytes) -> str:
    """Return Base64 without line breaks."""
    return _base64.b64encode(value).decode()


def hex_of_whole(value: int) -> str:
    """Return the hexadecimal digits of a long in two's complement."""
    return f"{value & 0xFFFF_FFFF_FFFF_FFFF:X}"


def md5(value: bytes) -> str:
    """Return the MD5 sum in hexadecimal digits."""
    return hashlib.md5(value, usedforsecurity=False).hexdigest()


def sha1(value: bytes) -> str:
    """Return the SHA-1 sum in hexadecimal digits."""
    return hashlib.sha1(value, usedforsecurity=False).hexdigest()


def sha224(value: bytes) -> str:
    """Return the SHA-224 sum in hexadecimal digits."""
    return hashlib.sha224(value).hexdigest()


def sha256(value: bytes) -> str:
    """Return the SHA-256 sum in hexadecimal digits."""
    return hashlib.sha256(value).hexdigest()


def sha384(value: bytes) -> str:
    """Return the SHA-384 sum in hexadecimal digits."""
    return hashlib.sha384(value).hexdigest()


def sha512(value: bytes) -> str:
    """Return the SHA-512 sum in hexadecimal digits."""
    return hashlib.sha512(value).hexdigest()


def crc32(value: bytes) -> int:
    """Return the CRC-32 sum."""
    return zlib.crc32(value)


def spaces(count: int) -> str:
    """Return space()."""
    return " " * bounded(count)


def overlaid(text: str, new: str, place: int, length: int) -> str:
    """Return overlay(): a part of the text replaced; below 0 the part is as long as the new one."""
    size = length if length >= 0 else len(new)
    return part(text, 1, _as_int(place - 1)) + new + part(text, _as_int(place + size), _LARGEST_INT)


def _as_int(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def place_in_set(wanted: str, listed: str) -> int:
    """Return find_in_set(): the place in a list with commas, 0 where it is not there."""
    if "," in wanted:
        return 0
    before, found, _ = f",{listed},".partition(f",{wanted},")
    return before.count(",") + 1 if found else 0


def quoted(text: str) -> str:
    """Return quote()."""
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"


def chosen(place: int, texts: Sequence[str | None]) -> str | None:
    """Return elt(): the text at a place."""
    if not 1 <= place <= len(texts):
        raise Undefined(f"there is no text {place}, only {len(texts)}")
    return texts[place - 1]
