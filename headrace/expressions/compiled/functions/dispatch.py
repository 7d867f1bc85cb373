"""The functions that are compiled, each under every name that Spark has for it.

Most are rows of `table`. Here is what is compiled otherwise for other arguments.
"""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Final

from headrace.expressions.compiled.fragment import Fragment, Scope, lift, need
from headrace.expressions.compiled.functions import patterns, texts
from headrace.expressions.compiled.functions.rows import compile_by
from headrace.expressions.compiled.functions.table import ROWS
from headrace.expressions.compiled.functions.time_formats import reader
from headrace.expressions.compiled.operators import (
    arithmetic,
    casts,
    choices,
    conditions,
    containers,
    membership,
)
from headrace.expressions.compiled.operators.coercion import DATE, MOMENTS, STRING, TIMESTAMP
from headrace.expressions.compiled.syntax import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WHY_NOT: Final = dict.fromkeys(
    ["to_char", "to_number", "format_string", "printf"], "uses Java's formats"
)
_PARTS: Final = {
    "year": "year years y yr yrs",
    "quarter": "quarter qtr",
    "month": "month months mon mons",
    "weekofyear": "week weeks w",
    "day": "day days d",
    "dayofweek": "dayofweek dow",
    "dayofyear": "doy",
    "hour": "hour hours h hr hrs",
    "minute": "minute minutes m min mins",
}
_PART_OF: Final = {name: part for part, names in _PARTS.items() for name in names.split()}


def call(name: str, scope: Scope, *values: Fragment) -> Fragment:
    """Compile a call, or refuse a function or a number of arguments that is not known."""
    compiled = _COMPILERS.get(name)
    if compiled is None:
        raise Refused(f"{name}() {_WHY_NOT.get(name, 'is left to Spark')}")
    try:
        signature(compiled).bind(scope, *values)
    except TypeError:
        raise Refused(f"{name}() of {len(values)} arguments") from None
    return compiled(scope, *values)


def _if_null(scope: Scope, value: Fragment, other: Fragment) -> Fragment:
    return choices.coalesce(scope, value, other)


def _if_there(scope: Scope, test: Fragment, there: Fragment, absent: Fragment) -> Fragment:
    return choices.case(scope, there, conditions.is_null(scope, test), absent)


def _part_of_time(scope: Scope, unit: Fragment, value: Fragment) -> Fragment:
    name = _PART_OF.get(unit.literal.lower()) if isinstance(unit.literal, str) else None
    if name is None:
        raise Refused("extract() of a part that is not known")
    return call(name, scope, need(value, [DATE, *MOMENTS], "extract()"))


def _timestamp_of(scope: Scope, value: Fragment, pattern: Fragment | None = None) -> Fragment:
    if pattern is None or value.kind is not STRING:
        return casts.named_cast("timestamp", scope, value)
    if not isinstance(pattern.literal, str):
        raise Refused("to_timestamp() with a format that is no text in quotes")
    name = scope.helper(reader(pattern.literal))
    return lift(scope, [value], TIMESTAMP, lambda x: f"{name}({x})", fails=True)


_CASTS: Final = ("int", "bigint", "double", "boolean", "string", "binary", "timestamp")
_BY_NAMES: Final[Mapping[str, Callable[..., Fragment]]] = {
    "concat ||": texts.concat,
    "concat_ws": texts.concat_with,
    "substring substr": texts.substring,
    "elt": texts.chosen,
    "hash": partial(texts.hashed, "hash"),
    "xxhash64": partial(texts.hashed, "xxhash64"),
    "round": partial(arithmetic.rounded, "round"),
    "bround": partial(arithmetic.rounded, "bround"),
    "mod": partial(arithmetic.by_operator, "%"),
    "div": partial(arithmetic.by_operator, "div"),
    "pmod": arithmetic.modulus,
    "isnan": arithmetic.is_nan,
    "try_add": partial(arithmetic.tried, "+"),
    "try_subtract": partial(arithmetic.tried, "-"),
    "try_multiply": partial(arithmetic.tried, "*"),
    "try_divide": partial(arithmetic.tried, "/"),
    "try_mod": partial(arithmetic.tried, "%"),
    "greatest": partial(choices.extreme, "greatest"),
    "least": partial(choices.extreme, "least"),
    "coalesce": choices.coalesce,
    "nvl ifnull": _if_null,
    "nullif": choices.null_if,
    "nvl2": _if_there,
    "nullifzero": choices.null_if_zero,
    "zeroifnull": choices.zero_if_null,
    "if": lambda scope, test, one, other: choices.case(scope, other, test, one),
    "decode": choices.decoded,
    "isnull": conditions.is_null,
    "isnotnull": lambda scope, value: conditions.negation(scope, conditions.is_null(scope, value)),
    "equal_null": conditions.same,
    "like": partial(membership.like, "LIKE"),
    "ilike": partial(membership.like, "ILIKE"),
    "regexp_replace": patterns.replaced,
    "regexp_extract": patterns.extracted,
    "regexp_extract_all": patterns.all_extracted,
    "split": patterns.split,
    "array": containers.array,
    "try_element_at": partial(containers.item, "try_element_at()"),
    "get": partial(containers.item, "get()"),
    "element_at": partial(containers.item, "element_at()"),
    "array_contains": containers.contains,
    "array_position": containers.position,
    "array_append": partial(containers.added, "append"),
    "array_prepend": partial(containers.added, "prepend"),
    "extract date_part datepart": _part_of_time,
    "to_timestamp": _timestamp_of,
    **{name: partial(casts.named_cast, name) for name in _CASTS},
}
# What the parser makes of syntax, and no user calls.
_SYNTAX: Final[Mapping[str, Callable[..., Fragment]]] = {
    "NOT": conditions.negation,
    "is true": partial(conditions.is_truth, True),
    "is false": partial(conditions.is_truth, False),
    "in": membership.one_of,
    "between": membership.between,
    "date literal": partial(casts.typed_literal, "date"),
    "timestamp literal": partial(casts.typed_literal, "timestamp"),
    "timestamp_ltz literal": partial(casts.typed_literal, "timestamp"),
    "timestamp_ntz literal": partial(casts.typed_literal, "timestamp_ntz"),
    "x literal": casts.bytes_literal,
    "case": choices.case,
    "case of a value": partial(choices.case_of_value, partial(conditions.compare, "=")),
    "[]": partial(containers.item, "[]"),
    "cast": lambda scope, value, to: casts.named_cast(to.literal, scope, value),
    "try_cast": lambda scope, value, to: casts.try_cast(to.literal, scope, value),
}
OPERATORS: Final[Mapping[str, Callable[[Scope, Fragment, Fragment], Fragment]]] = {
    "and": conditions.both,
    "or": conditions.either,
    "<=>": conditions.same,
    "<<": partial(call, "shiftleft"),
    **{one: partial(conditions.compare, one) for one in ("=", "<>", "<", "<=", ">", ">=")},
    **{one: partial(arithmetic.by_operator, one) for one in ("+", "-", "*", "/", "%")},
    **{one: partial(arithmetic.by_operator, one) for one in ("div", "&", "|", "^")},
}
_FUNCTIONS: Final = {name: one for names, one in _BY_NAMES.items() for name in names.split()}
_ROWS: Final = {name: partial(compile_by, rows, name) for name, rows in ROWS.items()}
_COMPILERS: Final[Mapping[str, Callable[..., Fragment]]] = {**_ROWS, **_FUNCTIONS, **_SYNTAX}
# The names that a user may call.
COMPILED: Final = frozenset(name for name in (*ROWS, *_FUNCTIONS) if name.isidentifier())
