"""IN, BETWEEN and LIKE: one value against several, or against a pattern."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.expressions.lane.coerce import BOOLEAN, STRING, WHOLE, common_kind, comparable
from headrace.expressions.lane.conditions import both, compare, either
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import Value, lift, need, with_truth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.expressions.lane.value import Scope

_WILD = re.compile(r"\\(.)|([%_])", re.DOTALL)


def one_of(scope: Scope, value: Value, others: Sequence[Value]) -> Value:
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


def like(scope: Scope, value: Value, pattern: Value, escape: Value | None) -> Value:
    """Compile `LIKE` for a pattern that is known."""
    need(value, [STRING], "LIKE")
    if not pattern.is_literal or pattern.kind is not STRING:
        raise Refused("LIKE with a pattern that is no text in quotes")
    if escape is not None and escape.literal != "\\":
        raise Refused("LIKE with an ESCAPE of its own")
    pieces = _pieces(pattern.literal)
    return lift(scope, [value], BOOLEAN, lambda x: _matches(scope, x, pieces))


def _pieces(pattern: str) -> list[str]:
    """Return texts and, as items of their own, the signs `%` and `_`; escapes are resolved.

    A text stands at each even place, be it empty, and a sign at each odd one.
    """
    pieces = [""]
    end = 0
    for found in _WILD.finditer(pattern):
        pieces[-1] += pattern[end : found.start()]
        end = found.end()
        if found[2]:
            pieces += [found[2], ""]
        elif found[1] in {"%", "_", "\\"}:
            pieces[-1] += found[1]
        else:
            raise Refused("LIKE with a \\ before another sign than %, _ and \\")
    rest = pattern[end:]
    if "\\" in rest:
        raise Refused("LIKE with a \\ at its end")
    pieces[-1] += rest
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
    parts = [
        re.escape(piece) if number % 2 == 0 else {"%": ".*", "_": "."}[piece]
        for number, piece in enumerate(pieces)
    ]
    compiled = re.compile("".join(parts), re.DOTALL)
    return f"{scope.constant(compiled)}.fullmatch({source}) is not None"
