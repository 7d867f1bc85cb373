"""The words of an expression: names, signs and literals with their values."""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from headrace.expressions.lane.nodes import Refused
from headrace.expressions.tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.expressions.tokens import Token

LARGEST_INT: Final = 2**31 - 1
LARGEST_LONG: Final = 2**63 - 1
LONGEST: Final = 20_000
_NUMBER = re.compile(r"([0-9]+)(\.[0-9]+)?([eE][+-]?[0-9]+)?(BD|bd|[lLdD])?(?![\w.])")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "Z": "\x1a",
    "%": "\\%",
    "_": "\\_",
}
_PAIRS: Final = ("<=>", "<>", "!=", "==", "<=", ">=", "||", "<<", ">>")


@dataclass(frozen=True, slots=True)
class Word:
    """One word. A `word` is in lower case; `shown` is as it was written."""

    kind: Literal["word", "quoted", "sign", "text", "number"]
    text: str
    shown: str
    value: int | float | decimal.Decimal | None = None
    is_long: bool = False


def words_of(text: str) -> list[Word]:
    """Return the words of a text, or refuse what Spark might cut otherwise."""
    if len(text) > LONGEST:
        raise Refused(f"it is longer than {LONGEST} characters")
    if "${" in text:
        raise Refused("Spark fills in ${…}")
    return list(_words(text, tokens_of(text)))


def _words(text: str, tokens: Sequence[Token]) -> Iterator[Word]:
    end = 0
    was_text = False
    for token in tokens:
        if token.start < end:
            continue
        word = _word(text, token)
        if was_text and word.kind == "text":
            raise Refused("two texts side by side")
        was_text = word.kind == "text"
        end = token.start + len(word.shown)
        yield word


def _word(text: str, token: Token) -> Word:
    match token.kind:
        case "word" if token.text[0].isdigit():
            return _number(text, token.start)
        case "word":
            return Word("word", token.text.lower(), token.text)
        case "quoted":
            return Word("quoted", token.text[1:-1].replace("``", "`"), token.text)
        case "text":
            return Word("text", _text(token.text), token.text)
        case "comment":
            raise Refused("a comment")
    signs = next((pair for pair in _PAIRS if text.startswith(pair, token.start)), token.text)
    return Word("sign", signs, signs)


def _text(quoted: str) -> str:
    if quoted[0] in "rR":
        return quoted[2:-1]
    inside = quoted[1:-1]
    if quoted[0] * 2 in re.sub(r"\\.", "", inside, flags=re.DOTALL):
        raise Refused("a doubled quote within a text")
    return _ESCAPE.sub(_unescaped, inside)


def _unescaped(found: re.Match[str]) -> str:
    sign = found[1]
    if sign.isdigit() or sign in "uU":
        raise Refused(f"the escape \\{sign} in a text")
    return _ESCAPED.get(sign, sign)


def _number(text: str, start: int) -> Word:
    found = _NUMBER.match(text, start)
    if found is None:
        raise Refused(f'the number "{text[start : start + 20]}"')
    whole, fraction, exponent, suffix = found.groups(default="")
    digits = f"{whole}{fraction}{exponent}"
    suffix = suffix.lower()
    shown = found[0]
    if suffix == "d" or (exponent and not suffix):
        return Word("number", shown, shown, float(digits))
    if suffix == "bd" or fraction:
        return Word("number", shown, shown, _decimal(digits, suffix))
    if exponent:
        raise Refused(f'the number "{shown}"')
    number = int(digits)
    if number > LARGEST_LONG + 1:
        raise Refused(f'the number "{shown}" does not fit a long')
    return Word("number", shown, shown, number, is_long=suffix == "l")


def _decimal(digits: str, suffix: str) -> decimal.Decimal:
    if suffix == "l" or "e" in digits.lower() or len(digits) > 39:
        raise Refused(f'the number "{digits}{suffix}"')
    return decimal.Decimal(digits)
