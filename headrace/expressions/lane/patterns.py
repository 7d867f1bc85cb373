r"""RLIKE: regular expressions of Java that mean the same in Python, once they are rewritten.

What both read alike is kept, what they read otherwise (`.`, `$`, `\\d`) is spelled out, and all
that is left is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from headrace.expressions.lane.coerce import BOOLEAN, STRING
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import lift, need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.expressions.lane.value import Scope, Value

_PART = re.compile(
    r"""
      (?P<class>\[\^?(?:[^\[\]\\&^]|\\.)+\])
    | (?P<escape>\\.)
    | (?P<open>\((?:\?:)?(?!\?))
    | (?P<quantifier>(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??(?![*+?{]))
    | (?P<close>\))
    | (?P<sign>[.^$|])
    | (?P<text>[^\\\[\]{}()*+?.^$|])
    """,
    re.VERBOSE | re.DOTALL,
)
_ENDS: Final = "\\n\\r\\u0085\\u2028\\u2029"
_SIGNS: Final = {
    ".": f"[^{_ENDS}]",
    "^": r"\A",
    # Before the last line's end too, but not within one of two characters.
    "$": rf"(?!(?<=\r)\n)(?=(?:\r\n|[{_ENDS}])?\Z)",
    "|": "|",
}
_SETS: Final = {"d": "0-9", "w": "a-zA-Z_0-9", "s": r" \t\n\x0b\f\r"}


def matches(scope: Scope, value: Value, pattern: Value) -> Value:
    """Compile `rlike`, which looks for a pattern anywhere in a text."""
    need(value, [STRING], "rlike()")
    if not pattern.is_literal or pattern.kind is not STRING:
        raise Refused("rlike() with a pattern that is no text in quotes")
    try:
        compiled = re.compile("".join(_rewritten(pattern.literal)))
    except (re.error, OverflowError, RecursionError):
        raise Refused("rlike() uses Java's regular expressions") from None
    name = scope.constant(compiled)
    return lift(scope, [value], BOOLEAN, lambda x: f"{name}.search({x}) is not None")


def _rewritten(pattern: str) -> Iterator[str]:
    end = 0
    before = "open"
    while end < len(pattern):
        found = _PART.match(pattern, end)
        if found is None or found.lastgroup is None:
            raise Refused(f"rlike() uses Java's regular expressions, here {pattern[end:][:10]!r}")
        kind, text = found.lastgroup, found[0]
        if kind == "quantifier" and before not in {"class", "escape", "close", "text", "."}:
            raise Refused("rlike() with a quantifier after nothing")
        yield _part(kind, text)
        before = text if kind == "sign" else kind
        end = found.end()


def _part(kind: str, text: str) -> str:
    match kind:
        case "class":
            return _class(text)
        case "escape":
            return _escape(text[1], inside=False)
        case "open":
            return "(?:"
        case "sign":
            return _SIGNS[text]
        case "text":
            return re.escape(text)
    return text


def _escape(sign: str, *, inside: bool) -> str:
    if sign in _SETS:
        return _SETS[sign] if inside else f"[{_SETS[sign]}]"
    if sign.lower() in _SETS and not inside:
        return f"[^{_SETS[sign.lower()]}]"
    if sign.isascii() and not sign.isalnum() and sign.isprintable():
        return re.escape(sign)
    raise Refused(f"rlike() uses Java's regular expressions, here '\\{sign}'")


def _class(text: str) -> str:
    is_negated = text.startswith("[^")
    inside = text[2 if is_negated else 1 : -1]
    parts = [
        _escape(found[1], inside=True) if found[1] else _class_sign(found[2])
        for found in re.finditer(r"\\(.)|(.)", inside, re.DOTALL)
    ]
    if inside.startswith("-") or inside.endswith("-") or _BAD_RANGE.search(inside):
        raise Refused("rlike() with a '-' that is not clear")
    return f"[{'^' if is_negated else ''}{''.join(parts)}]"


# A range has a letter or a digit at both ends, and is not followed by another.
_BAD_RANGE = re.compile(r"[^A-Za-z0-9]-|-[^A-Za-z0-9]|.-.-|\\[dws]-|-\\")


def _class_sign(sign: str) -> str:
    return sign if sign == "-" else re.escape(sign)
