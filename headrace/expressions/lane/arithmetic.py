"""Operators and functions of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.expressions.lane import run_numbers
from headrace.expressions.lane.coerce import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    NUMBERS,
    WHOLE,
    common_kind,
    widened,
)
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.undefined import overflow
from headrace.expressions.lane.value import Value, lift, need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.expressions.lane.value import Kind, Scope

LIMITS: Final[Mapping[Kind, tuple[int, int, str]]] = {
    INT: (-(2**31), 2**31 - 1, "int"),
    LONG: (-(2**63), 2**63 - 1, "bigint"),
}


def arithmetic(scope: Scope, sign: str, left: Value, right: Value) -> Value:
    """Compile `+`, `-`, `*`, `/`, `%`, `div`, `&`, `|`, `^`."""
    kind = common_kind((left, right), sign)
    if kind not in NUMBERS:
        raise Refused(f"{sign} of other values than int, long and double")
    if sign in {"/", "div"}:
        kind = DOUBLE if sign == "/" else LONG
        if sign == "div" and DOUBLE in {left.kind, right.kind}:
            raise Refused("div of doubles")
    left, right = widened(scope, left, kind), widened(scope, right, kind)
    if sign in {"+", "-", "*"}:
        return lift(scope, [left, right], kind, _sum(scope, sign, kind), fails=kind in WHOLE)
    if sign in {"&", "|", "^"}:
        if kind not in WHOLE:
            raise Refused(f"{sign} of doubles")
        return lift(scope, [left, right], kind, lambda a, b: f"{a} {sign} {b}")
    return _quotient(scope, sign, kind, left, right)


def _sum(scope: Scope, sign: str, kind: Kind) -> Callable[[str, str], str]:
    if kind is DOUBLE:
        return lambda a, b: f"{a} {sign} {b}"
    return lambda a, b: _within(scope, f"{a} {sign} {b}", kind)


def _within(scope: Scope, source: str, kind: Kind) -> str:
    """Return source that checks that a whole number fits its type."""
    lowest, largest, name = LIMITS[kind]
    result, fail = scope.temporary(), scope.helper(overflow)
    bound = f"{lowest} <= ({result} := {source}) <= {largest}"
    return f"{result} if {bound} else {fail}({name!r})"


def _quotient(scope: Scope, sign: str, kind: Kind, left: Value, right: Value) -> Value:
    functions = {
        "/": run_numbers.divide,
        "div": run_numbers.whole_quotient,
        "%": run_numbers.double_remainder if kind is DOUBLE else run_numbers.whole_remainder,
        "pmod": run_numbers.whole_modulus,
    }
    function = scope.helper(functions[sign])
    if right.is_literal and right.literal != 0 and sign == "/":
        return lift(scope, [left], kind, lambda a: f"{a} / {right.source}", declared=True)
    fails = not right.is_literal or right.literal in {0, -1}
    # Spark looks at the divisor first: nothing at all is evaluated after one that is null.
    lowest = f", {LIMITS[kind][0]}" if sign == "pmod" else ""
    build = f"{function}({{1}}, {{0}}{lowest})".format
    return lift(scope, [right, left], kind, build, fails=fails, declared=True)


def modulus(scope: Scope, left: Value, right: Value) -> Value:
    """Compile `pmod`."""
    kind = common_kind((left, right), "pmod()")
    if kind not in WHOLE:
        raise Refused("pmod() of doubles")
    left, right = widened(scope, left, kind), widened(scope, right, kind)
    return _quotient(scope, "pmod", kind, left, right)


def negative(scope: Scope, value: Value) -> Value:
    """Compile `-`."""
    kind = need(value, NUMBERS, "-").kind
    if kind is DOUBLE:
        return lift(scope, [value], kind, lambda x: f"-{x}")
    return lift(scope, [value], kind, lambda x: _within(scope, f"-{x}", kind), fails=True)


def positive(value: Value) -> Value:
    """Compile `+`."""
    return need(value, NUMBERS, "+")


def inverted(scope: Scope, value: Value) -> Value:
    """Compile `~`."""
    kind = need(value, WHOLE, "~").kind
    return lift(scope, [value], kind, lambda x: f"~{x}")


def absolute(scope: Scope, value: Value) -> Value:
    """Compile `abs`."""
    kind = need(value, NUMBERS, "abs()").kind
    if kind is DOUBLE:
        return lift(scope, [value], kind, lambda x: f"abs({x})")
    return lift(scope, [value], kind, lambda x: _within(scope, f"abs({x})", kind), fails=True)


def sign_of(scope: Scope, value: Value) -> Value:
    """Compile `sign`."""
    value = widened(scope, need(value, NUMBERS, "sign()"), DOUBLE)
    function = scope.helper(run_numbers.sign_of)
    return lift(scope, [value], DOUBLE, lambda x: f"{function}({x})", declared=True)


def floor(scope: Scope, value: Value) -> Value:
    """Compile `floor`."""
    return _to_long(scope, value, run_numbers.clamped_floor)


def ceil(scope: Scope, value: Value) -> Value:
    """Compile `ceil`."""
    return _to_long(scope, value, run_numbers.clamped_ceil)


def _to_long(scope: Scope, value: Value, function: Callable[[float], int]) -> Value:
    kind = need(value, NUMBERS, "floor() or ceil()").kind
    if kind in WHOLE:
        return replace(widened(scope, value, LONG), declared=True)
    name = scope.helper(function)
    return lift(scope, [value], LONG, lambda x: f"{name}({x})", declared=True)


def rounded(scope: Scope, value: Value, digits: Value | None) -> Value:
    """Compile `round` of whole numbers."""
    kind = need(value, WHOLE, "round()").kind
    places = 0 if digits is None else digits.literal
    if digits is not None and (digits.kind is not INT or not isinstance(places, int)):
        raise Refused("round() to a place that is no number")
    if places >= 0:
        return replace(value, declared=True)
    if places < -18:
        raise Refused("round() to so large a place")
    lowest, largest, _ = LIMITS[kind]
    function = scope.helper(run_numbers.rounded_whole)
    call = f"{-places}, {lowest}, {largest}"
    build = f"{function}({{}}, {call})".format
    return lift(scope, [value], kind, build, fails=True, declared=True)


def is_nan(scope: Scope, value: Value) -> Value:
    """Compile `isnan`, which is false for null."""
    first, again = scope.bound(need(value, [DOUBLE], "isnan()").source)
    return Value(f"({first} != {again})", BOOLEAN, nullable=False, fails=value.fails)
