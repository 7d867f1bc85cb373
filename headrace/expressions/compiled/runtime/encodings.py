"""Digits and encodings at run time: hexadecimal, other bases, URLs, card numbers."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_plus

from headrace.expressions.compiled.runtime.errors import Undefined

_LONG: Final = 0xFFFF_FFFF_FFFF_FFFF
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def bytes_of_hex(text: str) -> bytes | None:
    """Return unhex(): an odd first digit is a byte, null where there are others than digits."""
    if not _HEXADECIMAL.fullmatch(text):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def url_decoded(text: str) -> str:
    """Return the text that a form's value in a URL stands for."""
    if _BAD_ESCAPE.search(text):
        raise Undefined("the text is no value of a URL")
    return unquote_plus(text, errors="replace")


def has_luhn_digit(text: str) -> bool:
    """Return whether the last digit of a number is the one that Luhn's formula asks for."""
    if not text.isdecimal() or max(text) > "\uffff":
        return False
    shown = text if text.isascii() else "".join(str(int(character)) for character in text)
    last, doubled = shown[-1::-2], shown[-2::-2]
    total = 0
    for digit in range(10):
        twice = 2 * digit // 10 + 2 * digit % 10
        total += digit * last.count(str(digit)) + twice * doubled.count(str(digit))
    return total % 10 == 0


def converted(text: str, base: int, to: int) -> str | None:
    """Return conv(): a number in another base, unsigned where that base is above 0."""
    if not (2 <= base <= 36 and 2 <= abs(to) <= 36):
        return None
    text = text.strip(" ")
    if not text:
        return None
    is_negative = text[0] == "-"
    digits = _DIGITS[:base]
    value = 0
    for character in text[is_negative:].lstrip("0"):
        digit = digits.find(character.lower()) if character.isascii() else -1
        if digit < 0:
            break
        value = value * base + digit
        if value > _LONG:
            raise Undefined("the number does not fit 64 bits")
    if is_negative and to > 0:
        value = -value & _LONG
    if to < 0:
        signed = value - (1 << 64) if value >> 63 else value
        is_negative, value = is_negative or signed < 0, abs(signed)
    shown = ""
    while value:
        value, rest = divmod(value, abs(to))
        shown = _DIGITS[rest].upper() + shown
    shown = shown or "0"
    return f"-{shown}" if is_negative and to < 0 else shown
