"""What is null where Spark would otherwise throw: TRY_CAST and the functions that begin with try_."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.expressions.lane import run_numbers
from headrace.expressions.lane.casts import named_cast
from headrace.expressions.lane.coerce import (
    DOUBLE,
    LIMITS,
    NUMBERS,
    STRING,
    common_kind,
    reckonable,
    widened,
)
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.undefined import tried
from headrace.expressions.lane.value import Value, lift

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.expressions.lane.value import Scope

# Of whole numbers, and of doubles.
_QUOTIENTS: Final[dict[str, tuple[Callable[..., object], Callable[..., object]]]] = {
    "%": (run_numbers.whole_remainder, run_numbers.double_remainder),
    "/": (run_numbers.divide, run_numbers.divide),
}


def try_cast(name: str, scope: Scope, value: Value) -> Value:
    """Compile TRY_CAST: null where a value has no such meaning; a value that fails still does."""
    done = named_cast(name, scope, value)
    if not done.fails or done.literal is None:
        return replace(done, declared=done.declared or value.kind is STRING)
    inner = named_cast(name, scope, Value("x", value.type, nullable=False))
    first, again = scope.bound(value.source)
    attempt = f"{scope.helper(tried)}(lambda x: {inner.source}, {again})"
    source = f"(None if {first} is None else {attempt})"
    return Value(source, done.type, nullable=True, fails=value.fails)


def arithmetic(sign: str, scope: Scope, left: Value, right: Value) -> Value:
    """Compile `try_add` and its like of whole numbers and doubles."""
    if left.fails or right.fails:
        raise Refused("try_ functions of what may be undefined")
    left, right = reckonable(scope, left, right)
    if left.fails or right.fails:
        raise Refused("try_ functions of what may be undefined")
    kind = DOUBLE if sign == "/" else common_kind((left, right), sign) or DOUBLE
    if kind not in NUMBERS or not {left.kind, right.kind} <= {*NUMBERS, None}:
        raise Refused(f"try_ functions of {left.kind} and {right.kind}")
    values = [widened(scope, one, kind) for one in (left, right)]
    if sign in _QUOTIENTS:
        name = scope.helper(_QUOTIENTS[sign][kind is DOUBLE])

        def divided(a: str, b: str) -> str:
            first, again = scope.bound(b)
            return f"None if {first} == 0 else {name}({a}, {again})"

        return lift(scope, values, kind, divided, nullable=True)
    if kind is DOUBLE:
        return lift(scope, values, kind, lambda a, b: f"{a} {sign} {b}", declared=True)
    lowest, largest, _ = LIMITS[kind]
    result = scope.temporary()

    def build(a: str, b: str) -> str:
        return f"{result} if {lowest} <= ({result} := {a} {sign} {b}) <= {largest} else None"

    return lift(scope, values, kind, build, nullable=True)
