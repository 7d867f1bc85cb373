r"""Regular expressions of Java that mean the same in Python, once they are rewritten.

What both read alike is kept, what they read otherwise (`.`, `$`, `\\d`) is spelled out, and all
that is left is refused; so is what may take longer than a text is long.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.expressions.compiled.fragment import NULL, Fragment, Scope, lift
from headrace.expressions.compiled.functions.linear_patterns import is_linear
from headrace.expressions.compiled.operators.casts import as_kind
from headrace.expressions.compiled.operators.coercion import STRING
from headrace.expressions.compiled.runtime import patterns
from headrace.expressions.compiled.syntax import Refused
from headrace.schema.model import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    Regex: TypeAlias = re.Pattern[str]

_PART = re.compile(
    r"""
      (?P<class>\[\^?(?:[^\[\]\\&^]|\\.)+\])
    | (?P<escape>\\.)
    | (?P<open>\((?:\?:)?(?!\?))
    | (?P<quantifier>(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??(?![*+?{]))
    | (?P<close>\))
    | (?P<special>[.^$|])
    | (?P<text>[^\\\[\]{}()*+?.^$|])
    """,
    re.VERBOSE | re.DOTALL,
)
_ENDS: Final = "\\n\\r\\u0085\\u2028\\u2029"
_SPECIAL: Final = {
    ".": f"[^{_ENDS}]",
    "^": r"\A",
    # Before the last line's end too, but not within one of two characters.
    "$": rf"(?!(?<=\r)\n)(?=(?:\r\n|[{_ENDS}])?\Z)",
    "|": "|",
}
_SETS: Final = {"d": "0-9", "w": "a-zA-Z_0-9", "s": r" \t\n\x0b\f\r"}


def pattern(scope: Scope, value: Fragment, what: str, *, is_test: bool = False) -> Fragment:
    """Return a pattern in quotes compiled; of one for a test it only matters whether it is found."""
    if value.kind is None and is_test:
        return replace(NULL, type=STRING)
    if not value.is_literal or value.kind is not STRING:
        raise Refused(f"{what} with a pattern that is no text in quotes")
    try:
        parts = list(_rewritten(value.literal, captures=not is_test))
        regex = re.compile("".join(_without_ends(parts) if is_test else parts))
        is_quick = is_linear(regex.pattern)
    except (re.error, OverflowError, RecursionError):
        raise Refused(f"{what} uses Java's regular expressions") from None
    if not is_quick:
        raise Refused(f"{what} by a pattern that may look at a text again and again")
    if not is_test and regex.search(""):
        raise Refused(f"{what} by a pattern that an empty text fits")
    return Fragment(scope.constant(regex), STRING, nullable=False, literal=regex)


def replaced(scope: Scope, value: Fragment, pattern_: Fragment, new: Fragment) -> Fragment:
    """Compile `regexp_replace`."""
    text, regex = _both(scope, value, pattern_, "regexp_replace()")
    if not isinstance(new.literal, str):
        raise Refused("regexp_replace() with a replacement that is no text in quotes")
    template = scope.constant(_template(new.literal, regex.literal))
    function = scope.helper(patterns.replaced)
    return lift(scope, [text], STRING, lambda x: f"{function}({regex.source}, {template}, {x})")


def extracted(
    scope: Scope, value: Fragment, pattern_: Fragment, group: Fragment | None = None
) -> Fragment:
    """Compile `regexp_extract`."""
    text, regex = _both(scope, value, pattern_, "regexp_extract()")
    number = _group(group, regex.literal)
    function = scope.helper(patterns.extracted)
    return lift(scope, [text], STRING, lambda x: f"{function}({regex.source}, {x}, {number})")


def all_extracted(
    scope: Scope, value: Fragment, pattern_: Fragment, group: Fragment | None = None
) -> Fragment:
    """Compile `regexp_extract_all`."""
    text, regex = _both(scope, value, pattern_, "regexp_extract_all()")
    number = _group(group, regex.literal)
    found = f"[m[{number}] or '' for m in {regex.source}.finditer({{}})]".format
    return lift(scope, [text], Array(STRING, item_nullable=True), found)


def split(
    scope: Scope, value: Fragment, pattern_: Fragment, limit: Fragment | None = None
) -> Fragment:
    """Compile `split`."""
    text, regex = _both(scope, value, pattern_, "split()")
    most = -1 if limit is None else limit.literal
    if not isinstance(most, int) or regex.literal.groups:
        raise Refused("split() to a number that is not known, or by groups")
    cuts = f", {most - 1}" if most > 0 else ""
    kind = Array(STRING, item_nullable=False)
    if most == 1:
        return lift(scope, [text], kind, lambda x: f"[{x}]")
    return lift(scope, [text], kind, lambda x: f"{regex.source}.split({x}{cuts})")


def _both(
    scope: Scope, value: Fragment, pattern_: Fragment, what: str
) -> tuple[Fragment, Fragment]:
    return as_kind(scope, value, STRING, what), pattern(scope, pattern_, what)


def _without_ends(parts: list[str]) -> list[str]:
    """Return what is found wherever the pattern is: any number of a character at its ends is the least."""
    if "|" in parts:
        return parts
    while len(parts) > 1 and (least := _LEAST.get(parts[1])) is not None:
        parts = [*parts[:1] * least, *parts[2:]]
    while len(parts) > 1 and (least := _LEAST.get(parts[-1])) is not None and parts[-2] != ")":
        parts = [*parts[:-2], *parts[-2:-1] * least]
    return parts


_LEAST: Final = {"*": 0, "+": 1, "*?": 0, "+?": 1}


def _group(group: Fragment | None, regex: Regex) -> int:
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
        before = text if kind == "special" else kind
        end = found.end()


def _part(kind: str, text: str) -> str:
    match kind:
        case "class":
            return _class(text)
        case "escape":
            return _escape(text[1], inside=False)
        case "open":
            return "(?:"
        case "special":
            return _SPECIAL[text]
        case "text":
            return re.escape(text)
    return text


def _escape(character: str, *, inside: bool) -> str:
    if character in _SETS:
        return _SETS[character] if inside else f"[{_SETS[character]}]"
    if character.lower() in _SETS and not inside:
        return f"[^{_SETS[character.lower()]}]"
    if character.isascii() and not character.isalnum() and character.isprintable():
        return re.escape(character)
    raise Refused(f"a pattern uses Java's regular expressions, here '\\{character}'")


def _class(text: str) -> str:
    is_negated = text.startswith("[^")
    inside = text[2 if is_negated else 1 : -1]
    parts = [
        _escape(found[1], inside=True) if found[1] else _class_character(found[2])
        for found in re.finditer(r"\\(.)|(.)", inside, re.DOTALL)
    ]
    if inside.startswith("-") or inside.endswith("-") or _BAD_RANGE.search(inside):
        raise Refused("a pattern with a '-' that is not clear")
    return f"[{'^' if is_negated else ''}{''.join(parts)}]"


# A range has a letter or a digit at both ends, and is not followed by another.
_BAD_RANGE = re.compile(r"[^A-Za-z0-9]-|-[^A-Za-z0-9]|.-.-|\\[dws]-|-\\")


def _class_character(character: str) -> str:
    return character if character == "-" else re.escape(character)
