r"""Regular expressions of Java that mean the same in Python, once they are rewritten.

What both read alike is kept, what they read otherwise (`.`, `$`, `\\d`) is spelled out, and all
that is left is refused; so is what may take longer than a text is long.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.expressions.lane import run_patterns
from headrace.expressions.lane.casts import as_kind
from headrace.expressions.lane.coerce import BOOLEAN, INT, STRING
from headrace.expressions.lane.linear import is_linear
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import NULL, lift
from headrace.schema.model import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.expressions.lane.value import Scope, Value

    Regex: TypeAlias = re.Pattern[str]

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
    known = _known(scope, value, pattern, "rlike()", is_test=True)
    if known is None:
        return replace(NULL, type=BOOLEAN)
    text, name, _ = known
    return lift(scope, [text], BOOLEAN, lambda x: f"{name}.search({x}) is not None")


def replaced(scope: Scope, value: Value, pattern: Value, new: Value) -> Value:
    """Compile `regexp_replace`."""
    text, name, regex = _needed(scope, value, pattern, "regexp_replace()")
    if not isinstance(new.literal, str):
        raise Refused("regexp_replace() by what is no text in quotes")
    template = scope.constant(_template(new.literal, regex))
    function = scope.helper(run_patterns.replaced)
    return lift(scope, [text], STRING, lambda x: f"{function}({name}, {template}, {x})")


def extracted(scope: Scope, value: Value, pattern: Value, group: Value | None = None) -> Value:
    """Compile `regexp_extract`."""
    text, name, regex = _needed(scope, value, pattern, "regexp_extract()")
    number = _group(group, regex)
    function = scope.helper(run_patterns.extracted)
    return lift(scope, [text], STRING, lambda x: f"{function}({name}, {x}, {number})")


def all_extracted(scope: Scope, value: Value, pattern: Value, group: Value | None = None) -> Value:
    """Compile `regexp_extract_all`."""
    text, name, regex = _needed(scope, value, pattern, "regexp_extract_all()")
    number = _group(group, regex)
    found = f"[m[{number}] or '' for m in {name}.finditer({{}})]".format
    return lift(scope, [text], Array(STRING, item_nullable=True), found)


def first_found(scope: Scope, value: Value, pattern: Value) -> Value:
    """Compile `regexp_substr`."""
    text, name, _ = _needed(scope, value, pattern, "regexp_substr()")
    function = scope.helper(run_patterns.first_found)
    return lift(scope, [text], STRING, lambda x: f"{function}({name}, {x})", nullable=True)


def counted(scope: Scope, value: Value, pattern: Value) -> Value:
    """Compile `regexp_count`."""
    text, name, _ = _needed(scope, value, pattern, "regexp_count()")
    return lift(scope, [text], INT, lambda x: f"len({name}.findall({x}))")


def place_found(scope: Scope, value: Value, pattern: Value) -> Value:
    """Compile `regexp_instr`."""
    text, name, _ = _needed(scope, value, pattern, "regexp_instr()")
    function = scope.helper(run_patterns.place_found)
    return lift(scope, [text], INT, lambda x: f"{function}({name}, {x})")


def split(scope: Scope, value: Value, pattern: Value, limit: Value | None = None) -> Value:
    """Compile `split`."""
    text, name, regex = _needed(scope, value, pattern, "split()")
    most = -1 if limit is None else limit.literal
    if not isinstance(most, int) or regex.groups:
        raise Refused("split() to a number that is not known, or by groups")
    cuts = f", {most - 1}" if most > 0 else ""
    kind = Array(STRING, item_nullable=False)
    if most == 1:
        return lift(scope, [text], kind, lambda x: f"[{x}]")
    return lift(scope, [text], kind, lambda x: f"{name}.split({x}{cuts})")


def _needed(scope: Scope, value: Value, pattern: Value, what: str) -> tuple[Value, str, Regex]:
    known = _known(scope, value, pattern, what, is_test=False)
    if known is None or known[2].search(""):
        raise Refused(f"{what} by a pattern that an empty text fits")
    return known


def _known(
    scope: Scope, value: Value, pattern: Value, what: str, *, is_test: bool
) -> tuple[Value, str, Regex] | None:
    """Return the text, the name of the compiled pattern, and the pattern; None for no pattern."""
    text = as_kind(scope, value, STRING, what)
    if pattern.kind is None:
        return None
    if not pattern.is_literal or pattern.kind is not STRING:
        raise Refused(f"{what} with a pattern that is no text in quotes")
    try:
        parts = list(_rewritten(pattern.literal, captures=not is_test))
        regex = re.compile("".join(_without_ends(parts) if is_test else parts))
        is_quick = is_linear(regex.pattern)
    except (re.error, OverflowError, RecursionError):
        raise Refused(f"{what} uses Java's regular expressions") from None
    if not is_quick:
        raise Refused(f"{what} by a pattern that may look at a text again and again")
    return text, scope.constant(regex), regex


def _without_ends(parts: list[str]) -> list[str]:
    """Return what is found wherever the pattern is: any number of a sign at its ends is the least."""
    if "|" in parts:
        return parts
    while len(parts) > 1 and (least := _LEAST.get(parts[1])) is not None:
        parts = [*parts[:1] * least, *parts[2:]]
    while len(parts) > 1 and (least := _LEAST.get(parts[-1])) is not None and parts[-2] != ")":
        parts = [*parts[:-2], *parts[-2:-1] * least]
    return parts


_LEAST: Final = {"*": 0, "+": 1, "*?": 0, "+?": 1}


def _group(group: Value | None, regex: Regex) -> int:
    number = 1 if group is None else group.literal
    if not isinstance(number, int) or not 0 <= number <= regex.groups:
        raise Refused("a group that the pattern does not have")
    return number


def _template(new: str, regex: Regex) -> str:
    """Return the replacement as Python reads it."""
    if "\\" in new:
        raise Refused("a replacement with a \\")

    def group(found: re.Match[str]) -> str:
        if not found[1] or int(found[1]) > regex.groups:
            raise Refused("a replacement with a $ that is no group's")
        return rf"\g<{found[1]}>"

    return re.sub(r"\$([0-9]?)(?![0-9{])|\$", group, new)


def _rewritten(pattern: str, *, captures: bool) -> Iterator[str]:
    end = 0
    before = "open"
    while end < len(pattern):
        found = _PART.match(pattern, end)
        if found is None or found.lastgroup is None:
            raise Refused(f"a pattern uses Java's regular expressions, here {pattern[end:][:10]!r}")
        kind, text = found.lastgroup, found[0]
        if kind == "quantifier" and before not in {"class", "escape", "close", "text", "."}:
            raise Refused("a pattern with a quantifier after nothing")
        yield "(" if kind == "open" and text == "(" and captures else _part(kind, text)
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
    raise Refused(f"a pattern uses Java's regular expressions, here '\\{sign}'")


def _class(text: str) -> str:
    is_negated = text.startswith("[^")
    inside = text[2 if is_negated else 1 : -1]
    parts = [
        _escape(found[1], inside=True) if found[1] else _class_sign(found[2])
        for found in re.finditer(r"\\(.)|(.)", inside, re.DOTALL)
    ]
    if inside.startswith("-") or inside.endswith("-") or _BAD_RANGE.search(inside):
        raise Refused("a pattern with a '-' that is not clear")
    return f"[{'^' if is_negated else ''}{''.join(parts)}]"


# A range has a letter or a digit at both ends, and is not followed by another.
_BAD_RANGE = re.compile(r"[^A-Za-z0-9]-|-[^A-Za-z0-9]|.-.-|\\[dws]-|-\\")


def _class_sign(sign: str) -> str:
    return sign if sign == "-" else re.escape(sign)
