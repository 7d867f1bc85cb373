"""What the numbers and the texts of an expression stand for."""

from __future__ import annotations

import decimal
import re
from typing import Final

from headrace.expressions.compiled.syntax import Literal, Refused
from headrace.expressions.tokens import Token, number_of
from headrace.schema.model import Decimal, Primitive

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
_TYPES: Final = {"int": Primitive.INT, "bigint": Primitive.LONG, "double": Primitive.DOUBLE}
_WIDE: Final = decimal.Context(prec=40)


def text_literal(quoted: str) -> str:
    """Return the text between quotes, with what is escaped in it."""
    if quoted[0] in "rR":
        return quoted[2:-1]
    return _ESCAPES[quoted[0]].sub(_unescaped, quoted[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if escape is None:
        return found[0][0]
    if len(escape) == 1:
        return _ESCAPED.get(escape, escape)
    code = int(escape, 8) if len(escape) == 3 else int(escape[1:], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise Refused(f"the escape \\{escape} in a text")
    return chr(code)


def number_literal(token: Token, *, is_negative: bool = False) -> Literal:
    """Return the number, below 0 where a minus stands before it."""
    try:
        number = number_of(token.text, is_negative=is_negative)
    except OverflowError as beyond:
        raise Refused(f"a number that does not fit the type {beyond}") from None
    if number is None:
        raise Refused(f'the number "{token.text[:20]}"')
    type_, value = number
    if type_ in {"tinyint", "smallint", "float"}:
        raise Refused(f"a number of the type {type_}")
    if not isinstance(value, decimal.Decimal):
        return Literal(-value if is_negative else value, _TYPES[type_])
    if int(value.as_tuple().exponent) > 0:
        value = value.quantize(decimal.Decimal(1), context=_WIDE)
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    value = value.copy_negate() if is_negative else value
    return Literal(value, Decimal(max(len(digits), scale, 1), scale))
