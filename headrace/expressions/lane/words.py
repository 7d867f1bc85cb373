"""The words of an expression: names, signs and literals with their values."""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from headrace.expressions.lane.nodes import Refused
from headrace.expressions.numbers import number_at
from headrace.expressions.tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.expressions.tokens import Token

LARGEST_INT: Final = 2**31 - 1
LARGEST_LONG: Final = 2**63 - 1
LONGEST: Final = 20_000
_ESCAPES: Final = {
    quote: re.compile(
        rf"\\(u[0-9a-fA-F]{{4}}|U[0-9a-fA-F]{{8}}|[0-3][0-7]{{2}}|.)|{quote}{quote}", re.DOTALL
    )
    for quote in ("'", '"')
}
_ESCAPED: Final = {
    "0": "\0",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "Z": "\x1a",
    "%": "\\%",
    "_": "\\_",
}
_PAIRS: Final = ("<=>", "<>", "!=", "==", "<=", ">=", "||", "<<")


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
    last: Word | None = None
    for token in tokens:
        if token.start < end:
            continue
        is_negative = last is not None and last.text == "-"
        is_name = last is not None and (last.kind in {"word", "quoted"} or last.text in {")", "]"})
        word = _word(text, token, is_negative=is_negative, is_name_before=is_name)
        end = token.start + len(word.shown)
        if last is not None and last.kind == word.kind == "text":
            # Texts side by side are one.
            last = replace(last, text=last.text + word.text)
            continue
        if last is not None:
            yield last
        last = word
    if last is not None:
        yield last


def _word(text: str, token: Token, *, is_negative: bool, is_name_before: bool) -> Word:
    match token.kind:
        case "word" if token.text[0].isdigit():
            return _number(text, token.start, is_negative=is_negative)
        case "word":
            return Word("word", token.text.lower(), token.text)
        case "quoted":
            return Word("quoted", token.text[1:-1].replace("``", "`"), token.text)
        case "text":
            return Word("text", _text(token.text), token.text)
        case "comment":
            raise Refused("a comment")
    is_point = token.text == "." and text[token.end : token.end + 1].isdigit()
    if is_point and not is_name_before:
        return _number(text, token.start, is_negative=is_negative)
    signs = next((pair for pair in _PAIRS if text.startswith(pair, token.start)), token.text)
    return Word("sign", signs, signs)


def _text(quoted: str) -> str:
    if quoted[0] in "rR":
        return quoted[2:-1]
    return _ESCAPES[quoted[0]].sub(_unescaped, quoted[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    sign = found[1]
    if sign is None:
        return found[0][0]
    code = int(sign[1:], 16) if sign[0] in "uU" and len(sign) > 1 else None
    if len(sign) == 3:
        code = int(sign, 8)
    if code is None:
        return _ESCAPED.get(sign, sign)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise Refused(f"the escape \\{sign} in a text")
    return chr(code)


def _number(text: str, start: int, *, is_negative: bool) -> Word:
    try:
        found = number_at(text, start, is_negative=is_negative)
    except OverflowError as beyond:
        raise Refused(f"a number that does not fit the type {beyond}") from None
    if found is None:
        raise Refused(f'the number "{text[start : start + 20]}"')
    value = found.value
    if found.type in {"tinyint", "smallint", "float"}:
        raise Refused(f"a number of the type {found.type}")
    if isinstance(value, decimal.Decimal) and int(value.as_tuple().exponent) > 0:
        value = value.quantize(decimal.Decimal(1), context=_WIDE)
    return Word("number", found.shown, found.shown, value, is_long=found.type == "bigint")


_WIDE: Final = decimal.Context(prec=40)
