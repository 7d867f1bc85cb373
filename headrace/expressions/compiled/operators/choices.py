"""Values chosen by a condition or by being there: CASE, IF, COALESCE, NULLIF, GREATEST."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.expressions.lane import run_choices
from headrace.expressions.lane.coerce import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LOCAL,
    NUMBERS,
    STRING,
    TIMESTAMP,
    WHOLE,
    alike,
)
from headrace.expressions.lane.conditions import compare, condition, is_null, same
from headrace.expressions.lane.lists import held, sure
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import NULL, Value, literal_of, name_of, need
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.expressions.lane.value import Kind, Scope
    from headrace.schema.model import Type


def case(scope: Scope, branches: Sequence[tuple[Value, Value]], otherwise: Value) -> Value:
    """Compile CASE WHEN, and IF, which is one of one branch."""
    results, kind = alike(scope, [*(result for _, result in branches), otherwise], "a CASE")
    source = results[-1].source
    conditions = [condition(one, "a condition") for one, _ in branches]
    for asked, result in reversed(list(zip(conditions, results, strict=False))):
        source = f"{result.source} if {asked.where_true} else {source}"
    fails = any(one.fails for one in (*conditions, *results))
    nullable = any(one.nullable for one in results)
    declared = any(one.declared for one in results)
    return Value(f"({source})", _type(results, kind), nullable, fails, declared=declared)


def _type(values: Sequence[Value], kind: Kind) -> Type | None:
    """Return the type that all values have, with its names where they agree."""
    types = {one.type for one in values if one.source != "None"}
    return types.pop() if len(types) == 1 and not isinstance(kind, Primitive) else kind


def coalesce(scope: Scope, *given: Value) -> Value:
    """Compile `coalesce`: what follows a value that is never null is not looked at."""
    if not given:
        raise Refused("coalesce() of nothing")
    values, kind = alike(scope, given, "coalesce()")
    type_ = _type(values, kind)
    fails = any(one.fails for one in values)
    nullable = all(one.nullable for one in values)
    end = next((n for n, one in enumerate(values) if not one.nullable), len(values) - 1)
    source = values[end].source
    for one in reversed(values[:end]):
        first, again = scope.bound(one.source)
        source = f"{again} if {first} is not None else {source}"
    declared = all(one.is_optional for one in values)
    return Value(f"({source})", type_, nullable, fails, declared=declared)


def null_if(scope: Scope, value: Value, other: Value) -> Value:
    """Compile `nullif`."""
    sure(value, "nullif()")
    again, wrap = held(scope, value)
    equal = compare(scope, "=", again, other)
    found = case(scope, [(equal, replace(NULL, type=value.type))], again)
    return wrap(found)


def if_there(scope: Scope, asked: Value, there: Value, absent: Value) -> Value:
    """Compile `nvl2`."""
    return case(scope, [(is_null(asked), absent)], there)


def if_null(scope: Scope, value: Value, other: Value) -> Value:
    """Compile `nvl`."""
    return coalesce(scope, value, other)


def if_else(scope: Scope, asked: Value, result: Value, otherwise: Value) -> Value:
    """Compile `if`."""
    return case(scope, [(asked, result)], otherwise)


def null_if_zero(scope: Scope, value: Value) -> Value:
    """Compile `nullifzero`."""
    return null_if(scope, need(value, NUMBERS, "nullifzero()"), _zero(scope))


def zero_if_null(scope: Scope, value: Value) -> Value:
    """Compile `zeroifnull`."""
    return coalesce(
        scope, value if value.kind is None else need(value, NUMBERS, "zeroifnull()"), _zero(scope)
    )


def _zero(scope: Scope) -> Value:
    return literal_of(scope, 0, INT)


def decoded(scope: Scope, value: Value, *pairs: Value) -> Value:
    """Compile `decode` of pairs: null is found by null."""
    if len(pairs) < 2:
        raise Refused("decode() of a charset")
    if any(asked.kind is None for asked in pairs[0:-1:2]):
        raise Refused("decode() of NULL")
    again, wrap = held(scope, value)
    otherwise = pairs[-1] if len(pairs) % 2 else NULL
    branches = [
        (same(scope, again, asked), result)
        for asked, result in zip(pairs[0::2], pairs[1::2], strict=False)
    ]
    return wrap(case(scope, branches, otherwise))


def extreme(name: str, scope: Scope, *given: Value) -> Value:
    """Compile `greatest` and `least`, which pass over nulls."""
    if len(given) < 2:
        raise Refused(f"{name}() of one value")
    values, kind = alike(scope, given, f"{name}()")
    if kind not in {BOOLEAN, DATE, DOUBLE, LOCAL, STRING, TIMESTAMP, *WHOLE}:
        raise Refused(f"{name}() of {name_of(kind)}")
    function = getattr(run_choices, f"{name}_double" if kind is DOUBLE else name)
    listed = ", ".join(one.source for one in values)
    fails = any(one.fails for one in values)
    nullable = all(one.nullable for one in values)
    declared = all(one.is_optional for one in values)
    source = f"{scope.helper(function)}({listed})"
    return Value(source, kind, nullable, fails, declared=declared)
