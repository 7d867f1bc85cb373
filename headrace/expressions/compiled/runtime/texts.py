"""Texts at run time: positions are counted in characters, and from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Final

from headrace.expressions.compiled.runtime.errors import Undefined

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


def part(text: AnyStr, position: int, length: int) -> AnyStr:
    """Return substring(): a position below 0 counts from the end, and may lie before the text."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = start + length
    return text[max(start, 0) : end] if end > 0 else text[:0]


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


def position_of(part_: str, text: str, start: int) -> int:
    """Return locate(): the position of a part from a position on, 0 where it is not there."""
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


def split_part(text: str, separator: str, position: int) -> str:
    """Return one part of a text that is cut at a separator; a position below 0 counts from the end."""
    if position in {0, _LOWEST_INT}:
        raise Undefined("split_part() counts from 1")
    parts = text.split(separator) if separator else [text]
    if abs(position) > len(parts):
        return ""
    return parts[position - 1 if position > 0 else position]


def before_delimiter(text: str, delimiter: str, count: int) -> str:
    """Return substring_index(): what is before the nth delimiter, or behind it from the end."""
    if count == _LOWEST_INT:
        raise Undefined("substring_index() counts from -2147483647")
    if not delimiter or count == 0:
        return ""
    if count < 0:
        return before_delimiter(text[::-1], delimiter[::-1], -count)[::-1]
    at, find = -1, text.find
    for _ in range(count):
        # Spark moves by one character, and delimiters may overlap.
        at = find(delimiter, at + 1)
        if at < 0:
            return text
    return text[:at]


def translated(text: str, old: str, new: str) -> str:
    """Return translate(): each character by the one at its position, or by none; the first position counts."""
    characters: dict[int, str] = {}
    for position, character in enumerate(old):
        characters.setdefault(ord(character), new[position : position + 1])
    return text.translate(characters)


def joined(separator: str, parts: Iterable[str | None]) -> str:
    """Return concat_ws(): parts that are null are left out."""
    there = [one for one in parts if one is not None]
    bounded(sum(map(len, there)) + len(separator) * max(len(there) - 1, 0))
    return separator.join(there)


def stripped(text: str, characters: str) -> str:
    """Return trim() of any of these characters."""
    return trimmed_left(trimmed_right(text, characters), characters)


def trimmed_left(text: str, characters: str) -> str:
    """Return ltrim()."""
    if len(characters) <= _FEW:
        return text.lstrip(characters)
    known = set(characters)
    return text[
        next((at for at, character in enumerate(text) if character not in known), len(text)) :
    ]


def trimmed_right(text: str, characters: str) -> str:
    """Return rtrim()."""
    if len(characters) <= _FEW:
        return text.rstrip(characters)
    return trimmed_left(text[::-1], characters)[::-1]


# Python looks through all of the characters for each character.
_FEW: Final = 64


def put_together(*parts: str) -> str:
    """Return concat() of many texts."""
    bounded(sum(map(len, parts)))
    return "".join(parts)


def code_of(text: str) -> int:
    """Return ascii(): the code point of the first character, 0 where there is none."""
    return ord(text[0]) if text else 0


def character_of(code: int) -> str:
    """Return chr(): the character of the code's lowest eight bits."""
    return "" if code < 0 else chr(code & 0xFF)


def spaces(count: int) -> str:
    """Return space()."""
    return " " * bounded(count)


def overlaid(text: str, new: str, position: int, length: int) -> str:
    """Return overlay(): a part of the text replaced; below 0 the part is as long as the new one."""
    size = length if length >= 0 else len(new)
    return (
        part(text, 1, _as_int(position - 1))
        + new
        + part(text, _as_int(position + size), _LARGEST_INT)
    )


def _as_int(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def position_in_set(wanted: str, listed: str) -> int:
    """Return find_in_set(): the position in a list with commas, 0 where it is not there."""
    if "," in wanted:
        return 0
    before, found, _ = f",{listed},".partition(f",{wanted},")
    return before.count(",") + 1 if found else 0


def quoted(text: str) -> str:
    """Return quote()."""
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"


def chosen(position: int, texts: Sequence[str | None]) -> str | None:
    """Return elt(): the text at a position."""
    if not 1 <= position <= len(texts):
        raise Undefined(f"there is no text {position}, only {len(texts)}")
    return texts[position - 1]
