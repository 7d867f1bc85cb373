"""Values chosen by a condition or by being there: CASE, IF, COALESCE, NULLIF, GREATEST."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.expressions.lane import run_choices
from headrace.expressions.lane.coerce import (
    BOOLEAN,
    DATE,
    DOUBLE,
    LOCAL,
    STRING,
    TIMESTAMP,
    WHOLE,
    alike,
)
from headrace.expressions.lane.conditions import compare, condition, is_null
from headrace.expressions.lane.lists import held, sure
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import NULL, Value, name_of
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


def coalesce(scope: Scope, values: Sequence[Value]) -> Value:
    """Compile `coalesce`: what follows a value that is never null is not looked at."""
    if not values:
        raise Refused("coalesce() of nothing")
    values, kind = alike(scope, values, "coalesce()")
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


def extreme(scope: Scope, name: str, values: Sequence[Value]) -> Value:
    """Compile `greatest` and `least`, which pass over nulls."""
    if len(values) < 2:
        raise Refused(f"{name}() of one value")
    values, kind = alike(scope, values, f"{name}()")
    if kind not in {BOOLEAN, DATE, DOUBLE, LOCAL, STRING, TIMESTAMP, *WHOLE}:
        raise Refused(f"{name}() of {name_of(kind)}")
    function = getattr(run_choices, f"{name}_double" if kind is DOUBLE else name)
    listed = ", ".join(one.source for one in values)
    fails = any(one.fails for one in values)
    nullable = all(one.nullable for one in values)
    declared = all(one.is_optional for one in values)
    source = f"{scope.helper(function)}({listed})"
    return Value(source, kind, nullable, fails, declared=declared)
