"""Values chosen by a condition or by being there: CASE, IF, COALESCE, NULLIF, GREATEST."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from headrace.expressions.compiled.fragment import NULL, Fragment, Kind, Scope, literal_of, need
from headrace.expressions.compiled.operators.coercion import DOUBLE, INT, NUMBERS, ORDERED, alike
from headrace.expressions.compiled.operators.conditions import compare, condition, same
from headrace.expressions.compiled.operators.membership import evaluated_once, refuse_fallible
from headrace.expressions.compiled.runtime import lists
from headrace.expressions.compiled.syntax import Refused
from headrace.schema.model import Primitive, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def case(scope: Scope, otherwise: Fragment, *branches: Fragment) -> Fragment:
    """Compile CASE WHEN, and IF; `branches` are conditions, each followed by its result."""
    results, kind = alike(scope, [*branches[1::2], otherwise], "a CASE")
    source = results[-1].source
    conditions = [condition(one, "a condition") for one in branches[::2]]
    for test, result in reversed(list(zip(conditions, results, strict=False))):
        source = f"{result.source} if {test.where_true} else {source}"
    fails = any(one.fails for one in (*conditions, *results))
    nullable = any(one.nullable for one in results)
    declared = any(one.declared for one in results)
    return Fragment(f"({source})", _type(results, kind), nullable, fails, declared=declared)


def _type(values: Sequence[Fragment], kind: Kind) -> Type | None:
    """Return the type that all values have, with its names where they agree."""
    types = {one.type for one in values if one.source != "None"}
    return types.pop() if len(types) == 1 and not isinstance(kind, Primitive) else kind


def case_of_value(
    test: Callable[[Scope, Fragment, Fragment], Fragment],
    scope: Scope,
    otherwise: Fragment,
    value: Fragment,
    *branches: Fragment,
) -> Fragment:
    """Compile CASE of a value, which is tested against one value after another."""
    again, wrap = evaluated_once(scope, value)
    tests = [test(scope, again, wanted) for wanted in branches[::2]]
    tested = chain.from_iterable(zip(tests, branches[1::2], strict=True))
    return wrap(case(scope, otherwise, *tested))


def coalesce(scope: Scope, *arguments: Fragment) -> Fragment:
    """Compile `coalesce`: what follows a value that is never null is not looked at."""
    if not arguments:
        raise Refused("coalesce() of nothing")
    values, kind = alike(scope, arguments, "coalesce()")
    type_ = _type(values, kind)
    fails = any(one.fails for one in values)
    nullable = all(one.nullable for one in values)
    end = next((n for n, one in enumerate(values) if not one.nullable), len(values) - 1)
    source = values[end].source
    for one in reversed(values[:end]):
        first, again = scope.bound(one.source)
        source = f"{again} if {first} is not None else {source}"
    declared = all(one.is_optional for one in values)
    return Fragment(f"({source})", type_, nullable, fails, declared=declared)


def null_if(scope: Scope, value: Fragment, other: Fragment) -> Fragment:
    """Compile `nullif`."""
    refuse_fallible(value, "nullif()")
    again, wrap = evaluated_once(scope, value)
    equal = compare("=", scope, again, other)
    return wrap(case(scope, again, equal, replace(NULL, type=value.type)))


def null_if_zero(scope: Scope, value: Fragment) -> Fragment:
    """Compile `nullifzero`."""
    return null_if(scope, need(value, NUMBERS, "nullifzero()"), literal_of(scope, 0, INT))


def zero_if_null(scope: Scope, value: Fragment) -> Fragment:
    """Compile `zeroifnull`."""
    number = value if value.kind is None else need(value, NUMBERS, "zeroifnull()")
    return coalesce(scope, number, literal_of(scope, 0, INT))


def decoded(scope: Scope, value: Fragment, *pairs: Fragment) -> Fragment:
    """Compile `decode` of pairs: null is found by null."""
    if len(pairs) < 2:
        raise Refused("decode() of a charset")
    if any(wanted.kind is None for wanted in pairs[0:-1:2]):
        raise Refused("decode() of NULL")
    otherwise = pairs[-1] if len(pairs) % 2 else NULL
    return case_of_value(same, scope, otherwise, value, *pairs[: len(pairs) // 2 * 2])


def extreme(name: str, scope: Scope, *arguments: Fragment) -> Fragment:
    """Compile `greatest` and `least`, which pass over nulls."""
    if len(arguments) < 2:
        raise Refused(f"{name}() of one value")
    values, kind = alike(scope, arguments, f"{name}()")
    if kind not in ORDERED:
        raise Refused(f"{name}() of {values[0].kind_name}")
    function = lists.greatest if name == "greatest" else lists.least
    listed = ", ".join(one.source for one in values)
    listed += f", key={scope.helper(lists.nan_last)}" if kind is DOUBLE else ""
    fails = any(one.fails for one in values)
    nullable = all(one.nullable for one in values)
    declared = all(one.is_optional for one in values)
    source = f"{scope.helper(function)}({listed})"
    return Fragment(source, kind, nullable, fails, declared=declared)
