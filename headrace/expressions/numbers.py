"""The literals that Spark refuses: numbers that their type has no room for, dates that are none."""

from __future__ import annotations

import decimal
import math
import re
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from headrace.expressions.functions import CLOCK_WORDS
from headrace.expressions.lane.run_moments import days_of_text
from headrace.expressions.lane.undefined import Undefined
from headrace.expressions.problem import ExpressionProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.expressions.tokens import Token

    Type: TypeAlias = Literal["tinyint", "smallint", "int", "bigint", "float", "double", "decimal"]

_NUMBER = re.compile(
    r"((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)(BD|bd|[lLdDfFsSyY])?(?![\w.])"
)
_SUFFIXES: Final[dict[str, Type]] = {
    "y": "tinyint",
    "s": "smallint",
    "l": "bigint",
    "f": "float",
    "d": "double",
    "bd": "decimal",
}
_LIMITS: Final = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}
_MOST_DIGITS: Final = 38


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written; a whole one is of the smallest type that has room for it."""

    shown: str
    type: Type
    value: int | float | decimal.Decimal


def number_at(text: str, start: int, *, is_negative: bool = False) -> Number | None:
    """Return the number that begins there, None where none does; OverflowError says the type."""
    found = _NUMBER.match(text, start)
    if found is None:
        return None
    digits, exponent, suffix = found.groups(default="")
    type_ = _SUFFIXES.get(suffix.lower()) or ("double" if exponent else "decimal")
    is_whole = digits.isdigit()
    if type_ in _LIMITS and not is_whole:
        return None
    if type_ in {"double", "float"}:
        return Number(found[0], type_, _binary(digits, type_))
    if not is_whole or suffix.lower() == "bd":
        return Number(found[0], type_, _decimal(digits))
    if not suffix:
        type_ = next((one for one in ("int", "bigint") if _fits(digits, one, is_negative)), type_)
    if type_ in _LIMITS and not _fits(digits, type_, is_negative):
        raise OverflowError(type_)
    value = _decimal(digits)
    return Number(found[0], type_, value if type_ == "decimal" else int(value))


def beyond_their_type(text: str, tokens: Sequence[Token]) -> Iterator[ExpressionProblem]:
    """Give each number that its type has no room for."""
    end = 0
    for number, token in enumerate(tokens):
        before = tokens[number - 1] if number else None
        begins = token.kind == "word" and token.text[0].isdigit()
        if token.start < end or not (begins or _is_point(tokens, number)):
            continue
        try:
            found = number_at(
                text, token.start, is_negative=before is not None and before.text == "-"
            )
        except OverflowError as beyond:
            message = f"a number that does not fit the type {beyond}"
            yield ExpressionProblem(message, "write a smaller one", token.start)
            return
        end = token.start + len(found.shown) if found else token.end


def no_dates(tokens: Sequence[Token]) -> Iterator[ExpressionProblem]:
    """Give each DATE '…' that is no date; one that the clock tells is told elsewhere."""
    for token, after in pairwise(tokens):
        shown = after.text[1:-1]
        if token.kind != "word" or token.name != "date" or after.kind != "text" or "\\" in shown:
            continue
        if shown.strip().lower().split(" ")[0] in {"epoch", *CLOCK_WORDS}:
            continue
        try:
            days_of_text(shown)
        except Undefined:
            yield ExpressionProblem(f"{after.text} is no date", "write '2024-01-31'", after.start)


def _is_point(tokens: Sequence[Token], number: int) -> bool:
    """Whether a dot begins a number: it follows no name, and digits follow it."""
    before, token = tokens[number - 1 : number], tokens[number]
    is_first = not before or not (before[0].is_name or before[0].text in {")", "]"})
    after = tokens[number + 1 : number + 2]
    return token.text == "." and is_first and bool(after) and after[0].text[:1].isdigit()


def _binary(digits: str, type_: Type) -> float:
    value = float(digits)
    if math.isinf(value):
        raise OverflowError(type_)
    if type_ == "double":
        return value
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        raise OverflowError(type_) from None
    return rounded


def _decimal(digits: str) -> decimal.Decimal:
    try:
        value = decimal.Decimal(digits)
    except decimal.InvalidOperation:
        raise OverflowError("decimal") from None
    _, shown, exponent = value.as_tuple()
    scale = -int(exponent)
    size = len(shown) - scale if scale < 0 else max(len(shown), scale)
    if size > _MOST_DIGITS:
        raise OverflowError("decimal")
    return value


def _fits(digits: str, type_: str, is_negative: bool) -> bool:
    short = digits.lstrip("0") or "0"
    return len(short) < 20 and int(short) < _LIMITS[type_] + is_negative
