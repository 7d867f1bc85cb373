"""Operators and functions of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.expressions.compiled.fragment import Fragment, Kind, Scope, lift, need
from headrace.expressions.compiled.operators.coercion import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIMITS,
    LONG,
    NUMBERS,
    WHOLE,
    checked,
    common_kind,
    reckonable,
    widened,
)
from headrace.expressions.compiled.runtime import numbers
from headrace.expressions.compiled.syntax import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _division(operator: str, kind: Kind) -> Callable[..., object]:
    if operator == "%":
        return numbers.double_remainder if kind is DOUBLE else numbers.whole_remainder
    return _DIVISIONS[operator]


_DIVISIONS: Final[Mapping[str, Callable[..., object]]] = {
    "/": numbers.divide,
    "div": numbers.whole_quotient,
    "pmod": numbers.whole_modulus,
}


def by_operator(operator: str, scope: Scope, left: Fragment, right: Fragment) -> Fragment:
    """Compile `+`, `-`, `*`, `/`, `%`, `div`, `&`, `|`, `^`."""
    left, right = reckonable(scope, left, right)
    kind = common_kind((left, right), operator) or DOUBLE
    if kind not in NUMBERS:
        raise Refused(f"{operator} of other values than int, long and double")
    if operator in {"/", "div"}:
        kind = DOUBLE if operator == "/" else LONG
        if operator == "div" and DOUBLE in {left.kind, right.kind}:
            raise Refused("div of doubles")
    left, right = widened(scope, left, kind), widened(scope, right, kind)
    if operator in {"&", "|", "^"} and kind is DOUBLE:
        raise Refused(f"{operator} of doubles")
    if operator in {"/", "div", "%"}:
        return _quotient(scope, operator, kind, left, right)
    may_overflow = operator in {"+", "-", "*"} and kind in WHOLE

    def build(a: str, b: str) -> str:
        source = f"{a} {operator} {b}"
        return checked(scope, source, kind) if may_overflow else source

    return lift(scope, [left, right], kind, build, fails=may_overflow)


def _quotient(scope: Scope, operator: str, kind: Kind, left: Fragment, right: Fragment) -> Fragment:
    function = scope.helper(_division(operator, kind))
    if right.is_literal and right.literal != 0 and operator == "/":
        return lift(scope, [left], kind, lambda a: f"{a} / {right.source}", declared=True)
    fails = not right.is_literal or right.literal in {0, -1}
    # Spark looks at the divisor first: nothing at all is evaluated after one that is null.
    lowest = f", {LIMITS[kind][0]}" if operator == "pmod" else ""
    build = f"{function}({{1}}, {{0}}{lowest})".format
    return lift(scope, [right, left], kind, build, fails=fails, declared=True)


def modulus(scope: Scope, left: Fragment, right: Fragment) -> Fragment:
    """Compile `pmod`."""
    kind = common_kind((left, right), "pmod()")
    if kind not in WHOLE:
        raise Refused("pmod() of doubles")
    left, right = widened(scope, left, kind), widened(scope, right, kind)
    return _quotient(scope, "pmod", kind, left, right)


def rounded(name: str, scope: Scope, value: Fragment, digits: Fragment | None = None) -> Fragment:
    """Compile `round` and `bround` of whole numbers."""
    kind = need(value, WHOLE, f"{name}()").kind
    scale = 0 if digits is None else digits.literal
    if digits is not None and (digits.kind is not INT or not isinstance(scale, int)):
        raise Refused(f"{name}() to a scale that is no number")
    if scale >= 0:
        return replace(value, declared=True)
    if scale < -18:
        raise Refused(f"{name}() to so large a scale")
    function = scope.helper(numbers.rounded if name == "round" else numbers.rounded_to_even)

    def build(x: str) -> str:
        return checked(scope, f"{function}({x}, {-scale})", kind)

    return lift(scope, [value], kind, build, fails=True, declared=True)


def is_nan(scope: Scope, value: Fragment) -> Fragment:
    """Compile `isnan`, which is false for null."""
    first, again = scope.bound(need(value, [DOUBLE], "isnan()").source)
    return Fragment(f"({first} != {again})", BOOLEAN, nullable=False, fails=value.fails)


def tried(operator: str, scope: Scope, left: Fragment, right: Fragment) -> Fragment:
    """Compile `try_add` and its like of whole numbers and doubles."""
    left, right = reckonable(scope, left, right)
    if left.fails or right.fails:
        raise Refused("try_ functions of what may be undefined")
    kind = DOUBLE if operator == "/" else common_kind((left, right), operator) or DOUBLE
    if kind not in NUMBERS or not {left.kind, right.kind} <= {*NUMBERS, None}:
        raise Refused(f"try_ functions of {left.kind} and {right.kind}")
    values = [widened(scope, one, kind) for one in (left, right)]
    if operator in {"/", "%"}:
        name = scope.helper(_division(operator, kind))

        def divided(a: str, b: str) -> str:
            first, again = scope.bound(b)
            return f"None if {first} == 0 else {name}({a}, {again})"

        return lift(scope, values, kind, divided, nullable=True)
    if kind is DOUBLE:
        return lift(scope, values, kind, lambda a, b: f"{a} {operator} {b}", declared=True)
    lowest, largest, _ = LIMITS[kind]
    result = scope.temporary()

    def build(a: str, b: str) -> str:
        return f"{result} if {lowest} <= ({result} := {a} {operator} {b}) <= {largest} else None"

    return lift(scope, values, kind, build, nullable=True)
