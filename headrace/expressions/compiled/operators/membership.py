"""IN, BETWEEN and LIKE: one value against several, or against a pattern."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.expressions.lane.casts import as_kind
from headrace.expressions.lane.coerce import BOOLEAN, STRING, WHOLE, common_kind, comparable
from headrace.expressions.lane.conditions import both, compare, either
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.run_case import lower
from headrace.expressions.lane.value import NULL, Value, lift, literal_of, with_truth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.expressions.lane.value import Scope


def one_of(scope: Scope, value: Value, *others: Value) -> Value:
    """Compile `IN (…)`."""
    if not others:
        raise Refused("IN without values")
    common_kind([value, *others], "IN")
    known = [one for one in others if one.is_literal]
    if value.kind in {STRING, *WHOLE} and len(known) == len(others):
        texts = sorted({one.source for one in known})
        listed = "{" + ", ".join(texts) + "}"
        found = lift(scope, [value], BOOLEAN, lambda x: f"{x} in {listed}")
        return with_truth(found, f"({value.source} in {listed})")
    again, wrap = held(scope, value)
    found = compare(scope, "=", again, others[0])
    for other in others[1:]:
        found = either(scope, found, compare(scope, "=", again, other))
    return wrap(found)


def between(scope: Scope, value: Value, low: Value, high: Value) -> Value:
    """Compile `BETWEEN … AND …`."""
    sure(value, "BETWEEN")
    kinds = [comparable(scope, value, other)[2] for other in (low, high)]
    if kinds[0] == kinds[1] and kinds[0] in {STRING, *WHOLE} and low.is_literal and high.is_literal:
        low, high = (comparable(scope, value, other)[1] for other in (low, high))
        return lift(scope, [value], BOOLEAN, lambda x: f"{low.source} <= {x} <= {high.source}")
    again, wrap = held(scope, value)
    return wrap(both(scope, compare(scope, ">=", again, low), compare(scope, "<=", again, high)))


def sure(value: Value, what: str) -> None:
    """Refuse a value that may be undefined where Spark evaluates it before all else.

    It would fail there even where the answer is not needed.
    """
    if value.fails:
        raise Refused(f"{what} of a value that may be undefined")


def held(scope: Scope, value: Value) -> tuple[Value, Callable[[Value], Value]]:
    """Return a value that is evaluated once and used often, and what puts its evaluation first."""
    if value.is_literal or scope.is_cheap(value.source):
        return value, lambda whole: whole
    name = scope.temporary()
    again = Value(name, value.type, value.nullable, declared=value.declared)

    def wrap(whole: Value) -> Value:
        first = f"(({name} := {value.source}), "
        truth = None if whole.truth is None else f"{first}{whole.truth})[1]"
        fails = whole.fails or value.fails
        return replace(whole, source=f"{first}{whole.source})[1]", fails=fails, truth=truth)

    return again, wrap


def like(scope: Scope, value: Value, pattern: Value, escape: Value | None = None) -> Value:
    """Compile `LIKE` for a pattern that is known."""
    return _like(scope, value, pattern, escape, "LIKE")


def ilike(scope: Scope, value: Value, pattern: Value, escape: Value | None = None) -> Value:
    """Compile `ILIKE`, which compares both in lower case."""
    lowered = lift(scope, [value], STRING, lambda x: f"{scope.helper(lower)}({x})")
    if pattern.is_literal and pattern.kind is STRING:
        pattern = literal_of(scope, lower(pattern.literal), STRING)
    return _like(scope, lowered if value.kind is STRING else value, pattern, escape, "ILIKE")


def _like(scope: Scope, value: Value, pattern: Value, escape: Value | None, what: str) -> Value:
    value = as_kind(scope, value, STRING, what)
    if pattern.kind is None or (escape is not None and escape.kind is None):
        return replace(NULL, type=BOOLEAN)
    if not pattern.is_literal or pattern.kind is not STRING:
        raise Refused(f"{what} with a pattern that is no text in quotes")
    sign = "\\" if escape is None else escape.literal
    if not isinstance(sign, str) or len(sign) != 1 or sign in "%_":
        raise Refused(f"{what} with such an ESCAPE")
    pieces = _pieces(pattern.literal, sign)
    return lift(scope, [value], BOOLEAN, lambda x: _matches(scope, x, pieces))


def _pieces(pattern: str, escape: str) -> list[str]:
    """Return texts and, as items of their own, the signs `%` and `_`; escapes are resolved.

    A text stands at each even place, be it empty, and a sign at each odd one.
    """
    pieces = [""]
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            escaped = next(signs, "")
            if not escaped or escaped not in {"%", "_", escape}:
                raise Refused("LIKE with an escape before another sign than %, _ and itself")
            pieces[-1] += escaped
        elif sign in {"%", "_"}:
            pieces += [sign, ""]
        else:
            pieces[-1] += sign
    return pieces


def _matches(scope: Scope, source: str, pieces: Sequence[str]) -> str:
    texts, signs = pieces[::2], pieces[1::2]
    match texts, signs:
        case [text], []:
            return f"{source} == {text!r}"
        case [text, ""], ["%"]:
            return f"{source}.startswith({text!r})"
        case ["", text], ["%"]:
            return f"{source}.endswith({text!r})"
        case ["", text, ""], ["%", "%"]:
            return f"{text!r} in {source}"
    # What stands between two % is looked for once, from the left: another place for it would
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
