"""IN, BETWEEN and LIKE: one value against several, or against a pattern."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.expressions.compiled.fragment import NULL, Fragment, Scope, lift
from headrace.expressions.compiled.operators.casts import as_kind
from headrace.expressions.compiled.operators.coercion import (
    BOOLEAN,
    STRING,
    WHOLE,
    common_kind,
    comparable,
)
from headrace.expressions.compiled.operators.conditions import both, compare, either
from headrace.expressions.compiled.runtime.case import lower
from headrace.expressions.compiled.syntax import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# A column or a name may as well be repeated as given a name.
_CHEAP = re.compile(r"r\.f\d+|\w+")


def one_of(scope: Scope, value: Fragment, *others: Fragment) -> Fragment:
    """Compile `IN (…)`."""
    if not others:
        raise Refused("IN without values")
    common_kind([value, *others], "IN")
    known = [one for one in others if one.is_literal]
    if value.kind in {STRING, *WHOLE} and len(known) == len(others):
        texts = sorted({one.source for one in known})
        listed = "{" + ", ".join(texts) + "}"
        found = lift(scope, [value], BOOLEAN, lambda x: f"{x} in {listed}")
        return replace(found, truth=f"({value.source} in {listed})")
    again, wrap = evaluated_once(scope, value)
    found = compare("=", scope, again, others[0])
    for other in others[1:]:
        found = either(scope, found, compare("=", scope, again, other))
    return wrap(found)


def between(scope: Scope, value: Fragment, low: Fragment, high: Fragment) -> Fragment:
    """Compile `BETWEEN … AND …`."""
    refuse_fallible(value, "BETWEEN")
    kinds = [comparable(scope, value, other)[2] for other in (low, high)]
    if kinds[0] == kinds[1] and kinds[0] in {STRING, *WHOLE} and low.is_literal and high.is_literal:
        low, high = (comparable(scope, value, other)[1] for other in (low, high))
        return lift(scope, [value], BOOLEAN, lambda x: f"{low.source} <= {x} <= {high.source}")
    again, wrap = evaluated_once(scope, value)
    return wrap(both(scope, compare(">=", scope, again, low), compare("<=", scope, again, high)))


def refuse_fallible(value: Fragment, what: str) -> None:
    """Refuse a value that may be undefined where Spark evaluates it before all else.

    It would fail there even where the answer is not needed.
    """
    if value.fails:
        raise Refused(f"{what} of a value that may be undefined")


def evaluated_once(
    scope: Scope, value: Fragment
) -> tuple[Fragment, Callable[[Fragment], Fragment]]:
    """Return a value that is evaluated once and used often, and what puts its evaluation first."""
    if value.is_literal or _CHEAP.fullmatch(value.source):
        return value, lambda whole: whole
    name = scope.temporary()
    again = Fragment(name, value.type, value.nullable, declared=value.declared)

    def wrap(whole: Fragment) -> Fragment:
        first = f"(({name} := {value.source}), "
        truth = None if whole.truth is None else f"{first}{whole.truth})[1]"
        fails = whole.fails or value.fails
        return replace(whole, source=f"{first}{whole.source})[1]", fails=fails, truth=truth)

    return again, wrap


def like(
    what: str, scope: Scope, value: Fragment, pattern: Fragment, escape: Fragment | None = None
) -> Fragment:
    """Compile `LIKE` and `ILIKE` for a pattern that is known; ILIKE compares both in lower case."""
    value = as_kind(scope, value, STRING, what)
    if pattern.kind is None or (escape is not None and escape.kind is None):
        return replace(NULL, type=BOOLEAN)
    if not pattern.is_literal or pattern.kind is not STRING:
        raise Refused(f"{what} with a pattern that is no text in quotes")
    character = "\\" if escape is None else escape.literal
    if not isinstance(character, str) or len(character) != 1 or character in "%_":
        raise Refused(f"{what} with such an ESCAPE")
    if what == "LIKE":
        pieces = _pieces(pattern.literal, character)
    else:
        value = lift(scope, [value], STRING, lambda x: f"{scope.helper(lower)}({x})")
        pieces = _pieces(lower(pattern.literal), character)
    return lift(scope, [value], BOOLEAN, lambda x: _matches(scope, x, pieces))


def _pieces(pattern: str, escape: str) -> list[str]:
    """Return texts and, as items of their own, the characters `%` and `_`; escapes are resolved.

    A text stands at each even index, be it empty, and a wildcard at each odd one.
    """
    pieces = [""]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if not escaped or escaped not in {"%", "_", escape}:
                raise Refused("LIKE with an escape before another character than %, _ and itself")
            pieces[-1] += escaped
        elif character in {"%", "_"}:
            pieces += [character, ""]
        else:
            pieces[-1] += character
    return pieces


def _matches(scope: Scope, source: str, pieces: Sequence[str]) -> str:
    texts, characters = pieces[::2], pieces[1::2]
    match texts, characters:
        case [text], []:
            return f"{source} == {text!r}"
        case [text, ""], ["%"]:
            return f"{source}.startswith({text!r})"
        case ["", text], ["%"]:
            return f"{source}.endswith({text!r})"
        case ["", text, ""], ["%", "%"]:
            return f"{text!r} in {source}"
    # What stands between two % is looked for once, from the left: another position of it would
    # leave less for the rest. So a search that fails later never comes back to it.
    first, *others = _between(pieces)
    whole = first[0]
    for part, _ in others[:-1]:
        whole += f"(?>.*?{part})" if part else ""
    for part, size in others[-1:]:
        whole += f"(?=.{{{size}}}).*+(?<={part})" if part else ".*+"
    name = scope.constant(re.compile(whole, re.DOTALL))
    return f"{name}.fullmatch({source}) is not None"


def _between(pieces: Sequence[str]) -> list[tuple[str, int]]:
    """Return what stands between the `%` as regular expressions, each with its length."""
    parts = [("", 0)]
    for number, piece in enumerate(pieces):
        source, size = parts[-1]
        if number % 2 == 0:
            parts[-1] = source + re.escape(piece), size + len(piece)
        elif piece == "_":
            parts[-1] = f"{source}.", size + 1
        else:
            parts.append(("", 0))
    return parts
