"""An expression cut into tokens the way Spark's own grammar cuts it, for the checks and the compiler."""

from __future__ import annotations

import decimal
import math
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from headrace.floats import single

Kind: TypeAlias = Literal["space", "comment", "text", "quoted", "word", "number", "symbol"]
NumberType: TypeAlias = Literal[
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"
]

LONGEST: Final = 20_000
_BARE_CALLS: Final = """
current_timestamp current_date current_time localtimestamp current_user user session_user
current_catalog current_database current_schema grouping__id
"""
# Spark calls these without parentheses when no column has the name.
BARE_CALLS: Final = frozenset(_BARE_CALLS.split())
_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\n]+)
    | (?P<comment>--|/\*|\*/)
    | (?P<text>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<word>[A-Za-z0-9_]+)
    | (?P<symbol>->|::|<=>|<>|!=|==|<=|>=|\|\||<<|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:BD|bd|[lLdDfFsSyY])?)"
    r"(?![\w.])"
)
_PARTS = re.compile(r"([0-9.]+)([eE][+-]?[0-9]+)?([A-Za-z]*)")
_SUFFIXES: Final[dict[str, NumberType]] = {
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
class ExpressionProblem:
    """One mistake of an expression. `offset` counts characters of its text from 0."""

    message: str
    suggestion: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token without the white space around it; `end` is exclusive."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.start + len(self.text)

    @property
    def unquoted(self) -> str:
        """The text without the quotes of an identifier."""
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text

    @property
    def name(self) -> str:
        """The name that the token is as an identifier, in lower case and without quotes."""
        return self.unquoted.casefold()

    @property
    def is_name(self) -> bool:
        """Whether the token can be an identifier."""
        return self.kind in {"word", "quoted"}


def tokens_of(text: str) -> list[Token]:
    """Return all tokens; a character that fits nowhere is a symbol of its own.

    What begins with a digit and is no number of Spark's is a word.
    """
    tokens: list[Token] = []
    at = 0
    while found := (_NUMBER if _begins_number(text, at, tokens) else _TOKEN).match(text, at):
        kind, shown = found.lastgroup, found[0]
        if kind != "space":
            tokens.append(Token(kind, shown, at))  # type: ignore[arg-type]  # the groups are the kinds
        at = found.end()
    return tokens


def _begins_number(text: str, at: int, before: list[Token]) -> bool:
    """Whether a number begins there; with its point only where no name stands before it."""
    is_after_name = before and (before[-1].is_name or before[-1].text in {")", "]"})
    if text[at : at + 1] == "." and is_after_name:
        return False
    return _NUMBER.match(text, at) is not None


def number_of(
    shown: str, *, is_negative: bool
) -> tuple[NumberType, int | float | decimal.Decimal] | None:
    """Return the type and the value of a number; OverflowError(type) for one beyond its type.

    A whole number is of the smallest type that has room for it. None stands for what has another
    shape.
    """
    found = _PARTS.fullmatch(shown)
    if found is None:
        return None
    digits, exponent, suffix = found.groups(default="")
    type_ = _SUFFIXES.get(suffix.lower()) or ("double" if exponent else "decimal")
    is_whole = digits.isdigit() and not exponent
    if type_ in _LIMITS and not is_whole:
        return None
    if type_ in {"double", "float"}:
        return type_, _binary(digits + exponent, type_)
    if not is_whole or suffix.lower() == "bd":
        return type_, _decimal(digits + exponent)
    if not suffix:
        type_ = next((one for one in ("int", "bigint") if _fits(digits, one, is_negative)), type_)
    if type_ in _LIMITS and not _fits(digits, type_, is_negative):
        raise OverflowError(type_)
    value = _decimal(digits)
    return type_, value if type_ == "decimal" else int(value)


def _binary(digits: str, type_: NumberType) -> float:
    value = float(digits)
    if math.isinf(value):
        raise OverflowError(type_)
    try:
        return value if type_ == "double" else single(value)
    except OverflowError:
        raise OverflowError(type_) from None


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
