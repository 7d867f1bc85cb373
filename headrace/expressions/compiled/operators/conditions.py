"""Comparisons, three-valued logic, IN, LIKE and the tests for null."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.expressions.lane.coerce import BOOLEAN, DOUBLE, comparable
from headrace.expressions.lane.run_numbers import double_equal, double_less
from headrace.expressions.lane.value import NULL, Value, lift, need, with_truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.expressions.lane.value import Scope

FALSE: Final = Value("False", BOOLEAN, nullable=False, literal=False)
TRUE: Final = Value("True", BOOLEAN, nullable=False, literal=True)
_UNKNOWN: Final = replace(NULL, type=BOOLEAN)


def condition(value: Value, what: str) -> Value:
    """Return the value where it is a condition; NULL is one."""
    return _UNKNOWN if value.kind is None else need(value, [BOOLEAN], what)


def compare(scope: Scope, sign: str, left: Value, right: Value) -> Value:
    """Compile `=`, `<>`, `<`, `<=`, `>`, `>=`."""
    left, right, kind = comparable(scope, left, right)
    if NULL in {left, right} or "None" in {left.source, right.source}:
        return _UNKNOWN
    build = _doubles(scope, sign, right) if kind is DOUBLE else _plainly(sign)
    value = lift(scope, [left, right], BOOLEAN, build)
    is_either = left.nullable and (right.nullable or right.fails)
    if sign == "=" and kind is not DOUBLE and not is_either:
        # None equals nothing that is there.
        return with_truth(value, f"({build(left.source, right.source)})")
    return value


def _plainly(sign: str) -> Callable[[str, str], str]:
    python = {"=": "==", "<>": "!="}.get(sign, sign)
    return lambda left, right: f"{left} {python} {right}"


def _doubles(scope: Scope, sign: str, right: Value) -> Callable[[str, str], str]:
    """Compare as Spark does: NaN equals NaN and is larger than every number."""
    if right.is_literal:
        # Python says no to every question about NaN: ask the one whose answer for NaN is no.
        if sign in {">", ">="}:
            opposite = "<=" if sign == ">" else "<"
            return lambda a, b: f"not {a} {opposite} {b}"
        return _plainly(sign)
    equal, less = scope.helper(double_equal), scope.helper(double_less)
    shapes: dict[str, Callable[[str, str], str]] = {
        "=": lambda a, b: f"{equal}({a}, {b})",
        "<>": lambda a, b: f"not {equal}({a}, {b})",
        "<": lambda a, b: f"{less}({a}, {b})",
        ">=": lambda a, b: f"not {less}({a}, {b})",
        ">": lambda a, b: f"{less}({b}, {a})",
        "<=": lambda a, b: f"not {less}({b}, {a})",
    }
    return shapes[sign]


def same(scope: Scope, left: Value, right: Value) -> Value:
    """Compile `<=>`: never null, and true for two nulls."""
    left, right, kind = comparable(scope, left, right)
    for one, other in ((left, right), (right, left)):
        if one.source == "None":
            return is_null(other)
    if left.nullable and right.nullable:
        first, again = scope.bound(left.source)
        second, then = scope.bound(right.source)
        equal = (_doubles(scope, "=", right) if kind is DOUBLE else _plainly("="))(again, then)
        both = f"({first} is None) == ({second} is None) and ({again} is None or {equal})"
        return Value(f"({both})", BOOLEAN, nullable=False, fails=left.fails or right.fails)
    if kind is not DOUBLE:
        source = f"({_plainly('=')(left.source, right.source)})"
        return Value(source, BOOLEAN, nullable=False, fails=left.fails or right.fails)
    value = lift(scope, [left, right], BOOLEAN, _doubles(scope, "=", right), all_first=True)
    return is_true(value)


def is_true(value: Value) -> Value:
    """Return false for null."""
    if not value.nullable:
        return value
    return Value(f"({value.source} is True)", BOOLEAN, nullable=False, fails=value.fails)


def is_false(scope: Scope, value: Value) -> Value:
    """Return true for false alone."""
    if not value.nullable:
        return negation(scope, value)
    return Value(f"({value.source} is False)", BOOLEAN, nullable=False, fails=value.fails)


def is_null(value: Value) -> Value:
    """Compile `IS NULL`."""
    if not value.nullable and not value.fails:
        return FALSE
    return Value(f"({value.source} is None)", BOOLEAN, nullable=False, fails=value.fails)


def negation(scope: Scope, value: Value) -> Value:
    """Compile `NOT`."""
    return lift(scope, [value], BOOLEAN, lambda x: f"not {x}")


def both(scope: Scope, left: Value, right: Value) -> Value:
    """Compile `AND`."""
    fails = left.fails or right.fails
    if not left.nullable:
        source = f"({left.source} and {right.source})"
    else:
        first, again = scope.bound(left.source)
        if not right.nullable:
            source = f"(False if {first} is False else {again} if {right.source} else False)"
        else:
            second, then = scope.bound(right.source)
            chosen = f"{then} if {second} is False or {again} else {again}"
            source = f"(False if {first} is False else {chosen})"
    nullable = left.nullable or right.nullable
    declared = left.declared or right.declared
    value = Value(source, BOOLEAN, nullable, fails, declared=declared)
    # Spark goes on to the right after a null on the left, where it may find an error.
    if left.nullable and right.fails:
        return value
    return with_truth(value, f"({left.where_true} and {right.where_true})")


def either(scope: Scope, left: Value, right: Value) -> Value:
    """Compile `OR`."""
    if not left.nullable:
        source = f"({left.source} or {right.source})"
    else:
        first, again = scope.bound(left.source)
        if not right.nullable:
            source = f"(True if {first} else True if {right.source} else {again})"
        else:
            second, then = scope.bound(right.source)
            source = f"(True if {first} else {then} if {second} or {again} is False else None)"
    nullable = left.nullable or right.nullable
    declared = left.declared or right.declared
    value = Value(source, BOOLEAN, nullable, left.fails or right.fails, declared=declared)
    return with_truth(value, f"({left.where_true} or {right.where_true})")


def is_null_of(_scope: Scope, value: Value) -> Value:
    """Compile `isnull`."""
    return is_null(value)


def is_there(scope: Scope, value: Value) -> Value:
    """Compile `isnotnull`."""
    return negation(scope, is_null(value))


def is_true_of(_scope: Scope, value: Value) -> Value:
    """Compile `IS TRUE`."""
    return is_true(condition(value, "IS TRUE"))


def is_false_of(scope: Scope, value: Value) -> Value:
    """Compile `IS FALSE`."""
    return is_false(scope, condition(value, "IS FALSE"))
