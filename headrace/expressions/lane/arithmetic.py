"""Operators and functions of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.expressions.lane import run_numbers
from headrace.expressions.lane.casts import as_kind
from headrace.expressions.lane.coerce import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIMITS,
    LONG,
    NUMBERS,
    STRING,
    WHOLE,
    common_kind,
    reckonable,
    widened,
)
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.undefined import overflow
from headrace.expressions.lane.value import Value, lift, need

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.expressions.lane.value import Kind, Scope


def by_sign(sign: str, scope: Scope, left: Value, right: Value) -> Value:
    """Compile `+`, `-`, `*`, `/`, `%`, `div`, `&`, `|`, `^`."""
    left, right = reckonable(scope, left, right)
    kind = common_kind((left, right), sign) or DOUBLE
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


def _number(scope: Scope, value: Value) -> Value:
    """Return a text, or NULL, as the double that it is taken for."""
    return as_kind(scope, value, DOUBLE, "a sign") if value.kind in {STRING, None} else value


def negative(scope: Scope, value: Value) -> Value:
    """Compile `-`."""
    value = _number(scope, value)
    kind = need(value, NUMBERS, "-").kind
    if kind is DOUBLE:
        return lift(scope, [value], kind, lambda x: f"-{x}")
    return lift(scope, [value], kind, lambda x: _within(scope, f"-{x}", kind), fails=True)


def positive(scope: Scope, value: Value) -> Value:
    """Compile `+`."""
    return need(_number(scope, value), NUMBERS, "+")


def inverted(scope: Scope, value: Value) -> Value:
    """Compile `~`."""
    kind = need(value, WHOLE, "~").kind
    return lift(scope, [value], kind, lambda x: f"~{x}")


def absolute(scope: Scope, value: Value) -> Value:
    """Compile `abs`."""
    value = _number(scope, value)
    kind = need(value, NUMBERS, "abs()").kind
    if kind is DOUBLE:
        return lift(scope, [value], kind, lambda x: f"abs({x})")
    return lift(scope, [value], kind, lambda x: _within(scope, f"abs({x})", kind), fails=True)


def sign_of(scope: Scope, value: Value) -> Value:
    """Compile `sign`."""
    value = as_kind(scope, value, DOUBLE, "sign()")
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


def rounded(name: str, scope: Scope, value: Value, digits: Value | None = None) -> Value:
    """Compile `round` and `bround` of whole numbers."""
    kind = need(value, WHOLE, f"{name}()").kind
    places = 0 if digits is None else digits.literal
    if digits is not None and (digits.kind is not INT or not isinstance(places, int)):
        raise Refused(f"{name}() to a place that is no number")
    if places >= 0:
        return replace(value, declared=True)
    if places < -18:
        raise Refused(f"{name}() to so large a place")
    lowest, largest, _ = LIMITS[kind]
    function = run_numbers.rounded_whole if name == "round" else run_numbers.rounded_to_even
    build = f"{scope.helper(function)}({{}}, {-places}, {lowest}, {largest})".format
    return lift(scope, [value], kind, build, fails=True, declared=True)


def shifted(sign: str, scope: Scope, value: Value, bits: Value) -> Value:
    """Compile `<<`, `>>` and `>>>` as Java shifts: by the lowest bits of the distance."""
    kind = value.kind if value.kind is LONG else INT
    values = [as_kind(scope, value, kind, sign), as_kind(scope, bits, INT, sign)]
    width = 64 if kind is LONG else 32
    if sign == ">>":
        return lift(scope, values, kind, lambda a, b: f"{a} >> ({b} & {width - 1})")
    function = run_numbers.shifted_left if sign == "<<" else run_numbers.shifted_right
    build = f"{scope.helper(function)}({{}}, {{}}, {width})".format
    return lift(scope, values, kind, build)


def bit_count(scope: Scope, value: Value) -> Value:
    """Compile `bit_count`."""
    value = as_kind(scope, value, INT, "bit_count()") if value.kind is None else value
    need(value, [BOOLEAN, *WHOLE], "bit_count()")
    mask = 0xFFFF_FFFF_FFFF_FFFF
    return lift(scope, [value], INT, lambda x: f"({x} & {mask}).bit_count()")


def is_nan(scope: Scope, value: Value) -> Value:
    """Compile `isnan`, which is false for null."""
    first, again = scope.bound(need(value, [DOUBLE], "isnan()").source)
    return Value(f"({first} != {again})", BOOLEAN, nullable=False, fails=value.fails)
