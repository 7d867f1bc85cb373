"""Comparisons, three-valued logic, IN, LIKE and the tests for null."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.expressions.compiled.fragment import NULL, Fragment, Scope, lift, need
from headrace.expressions.compiled.operators.coercion import BOOLEAN, DOUBLE, comparable
from headrace.expressions.compiled.runtime.numbers import double_equal, double_less

if TYPE_CHECKING:
    from collections.abc import Callable

FALSE: Final = Fragment("False", BOOLEAN, nullable=False, literal=False)
_UNKNOWN: Final = replace(NULL, type=BOOLEAN)


def condition(value: Fragment, what: str) -> Fragment:
    """Return the value where it is a condition; NULL is one."""
    return _UNKNOWN if value.kind is None else need(value, [BOOLEAN], what)


def compare(operator: str, scope: Scope, left: Fragment, right: Fragment) -> Fragment:
    """Compile `=`, `<>`, `<`, `<=`, `>`, `>=`."""
    left, right, kind = comparable(scope, left, right)
    if NULL in {left, right} or "None" in {left.source, right.source}:
        return _UNKNOWN
    build = _doubles(scope, operator, right) if kind is DOUBLE else _plainly(operator)
    value = lift(scope, [left, right], BOOLEAN, build)
    is_either = left.nullable and (right.nullable or right.fails)
    if operator == "=" and kind is not DOUBLE and not is_either:
        # None equals nothing that is there.
        return replace(value, truth=f"({build(left.source, right.source)})")
    return value


def _plainly(operator: str) -> Callable[[str, str], str]:
    python = {"=": "==", "<>": "!="}.get(operator, operator)
    return lambda left, right: f"{left} {python} {right}"


def _doubles(scope: Scope, operator: str, right: Fragment) -> Callable[[str, str], str]:
    """Compare as Spark does: NaN equals NaN and is larger than every number."""
    if right.is_literal:
        # Python says no to every question about NaN: ask the one whose answer for NaN is no.
        if operator in {">", ">="}:
            opposite = "<=" if operator == ">" else "<"
            return lambda a, b: f"not {a} {opposite} {b}"
        return _plainly(operator)
    # a > b is b < a, and a >= b is not a < b.
    name = scope.helper(double_equal if operator in {"=", "<>"} else double_less)
    call = f"{name}({{1}}, {{0}})" if operator in {">", "<="} else f"{name}({{0}}, {{1}})"
    return (f"not {call}" if operator in {"<>", ">=", "<="} else call).format


def same(scope: Scope, left: Fragment, right: Fragment) -> Fragment:
    """Compile `<=>`: never null, and true for two nulls."""
    left, right, kind = comparable(scope, left, right)
    for one, other in ((left, right), (right, left)):
        if one.source == "None":
            return is_null(scope, other)
    if left.nullable and right.nullable:
        first, again = scope.bound(left.source)
        second, then = scope.bound(right.source)
        equal = (_doubles(scope, "=", right) if kind is DOUBLE else _plainly("="))(again, then)
        both = f"({first} is None) == ({second} is None) and ({again} is None or {equal})"
        return Fragment(f"({both})", BOOLEAN, nullable=False, fails=left.fails or right.fails)
    if kind is not DOUBLE:
        source = f"({_plainly('=')(left.source, right.source)})"
        return Fragment(source, BOOLEAN, nullable=False, fails=left.fails or right.fails)
    value = lift(scope, [left, right], BOOLEAN, _doubles(scope, "=", right), all_first=True)
    return is_truth(True, scope, value)


def is_truth(wanted: bool, scope: Scope, value: Fragment) -> Fragment:
    """Compile `IS TRUE` and `IS FALSE`, which are false for null."""
    value = condition(value, f"IS {wanted}".upper())
    if not value.nullable:
        return value if wanted else negation(scope, value)
    return Fragment(f"({value.source} is {wanted})", BOOLEAN, nullable=False, fails=value.fails)


def is_null(_scope: Scope, value: Fragment) -> Fragment:
    """Compile `IS NULL`."""
    if not value.nullable and not value.fails:
        return FALSE
    return Fragment(f"({value.source} is None)", BOOLEAN, nullable=False, fails=value.fails)


def negation(scope: Scope, value: Fragment) -> Fragment:
    """Compile `NOT`."""
    return lift(scope, [condition(value, "NOT")], BOOLEAN, lambda x: f"not {x}")


def both(scope: Scope, left: Fragment, right: Fragment) -> Fragment:
    """Compile `AND`."""
    left, right = condition(left, "AND"), condition(right, "AND")
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
    # Spark goes on to the right after a null on the left, where it may find an error.
    is_same = not (left.nullable and right.fails)
    truth = f"({left.where_true} and {right.where_true})" if is_same else None
    return _of_two(left, right, source, truth)


def either(scope: Scope, left: Fragment, right: Fragment) -> Fragment:
    """Compile `OR`."""
    left, right = condition(left, "OR"), condition(right, "OR")
    if not left.nullable:
        source = f"({left.source} or {right.source})"
    else:
        first, again = scope.bound(left.source)
        if not right.nullable:
            source = f"(True if {first} else True if {right.source} else {again})"
        else:
            second, then = scope.bound(right.source)
            source = f"(True if {first} else {then} if {second} or {again} is False else None)"
    return _of_two(left, right, source, f"({left.where_true} or {right.where_true})")


def _of_two(left: Fragment, right: Fragment, source: str, truth: str | None) -> Fragment:
    return Fragment(
        source,
        BOOLEAN,
        nullable=left.nullable or right.nullable,
        fails=left.fails or right.fails,
        truth=truth,
        declared=left.declared or right.declared,
    )
