"""The functions that are compiled, each under every name that Spark has for it.

What is one call at run time stands in `table`; here is what depends on more than its arguments'
kinds: a method of the compiler for each.
"""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Final

from headrace.expressions.lane import (
    arithmetic,
    casts,
    choices,
    conditions,
    containers,
    lists,
    moments,
    patterns,
    texts,
    tries,
)
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.table import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.expressions.lane.value import Scope, Value

_WHY_NOT: Final = dict.fromkeys(
    ["to_char", "to_number", "format_string", "printf"], "uses Java's formats"
)


def call(scope: Scope, name: str, values: list[Value]) -> Value:
    """Compile a call, or refuse a function or a number of arguments that is not known."""
    row = ROWS.get(name)
    if row is not None:
        return row.compiled(scope, values)
    compiled = _COMPILERS.get(name)
    if compiled is None:
        raise Refused(f"{name}() {_WHY_NOT.get(name, 'is left to Spark')}")
    try:
        signature(compiled).bind(scope, *values)
    except TypeError:
        raise Refused(f"{name}() of {len(values)} arguments") from None
    return compiled(scope, *values)


_SHAPES: Final[Mapping[str, Callable[..., Value]]] = {
    "trim": partial(texts.trim, "strip"),
    "ltrim": partial(texts.trim, "lstrip"),
    "rtrim": partial(texts.trim, "rstrip"),
    "btrim": partial(texts.trim_of, "strip"),
    "length len char_length character_length": texts.length,
    "octet_length": partial(texts.octets, 1),
    "bit_length": partial(texts.octets, 8),
    "concat": texts.concat,
    "concat_ws": texts.concat_with,
    "substring substr": texts.substring,
    "locate position": texts.locate,
    "reverse": texts.reverse,
    "hex": texts.hexadecimal,
    "sha2": texts.sha2,
    "encode to_binary": texts.encoded,
    "elt": texts.chosen,
    "hash": partial(texts.hashed, "hash"),
    "xxhash64": partial(texts.hashed, "xxhash64"),
    "substring_index": texts.before_sign,
    "abs": arithmetic.absolute,
    "sign signum": arithmetic.sign_of,
    "floor": arithmetic.floor,
    "ceil ceiling": arithmetic.ceil,
    "round": partial(arithmetic.rounded, "round"),
    "bround": partial(arithmetic.rounded, "bround"),
    "negative": arithmetic.negative,
    "positive": arithmetic.positive,
    "mod": partial(arithmetic.by_sign, "%"),
    "div": partial(arithmetic.by_sign, "div"),
    "pmod": arithmetic.modulus,
    "shiftleft": partial(arithmetic.shifted, "<<"),
    "shiftright": partial(arithmetic.shifted, ">>"),
    "shiftrightunsigned": partial(arithmetic.shifted, ">>>"),
    "bit_count": arithmetic.bit_count,
    "isnan": arithmetic.is_nan,
    "try_add": partial(tries.arithmetic, "+"),
    "try_subtract": partial(tries.arithmetic, "-"),
    "try_multiply": partial(tries.arithmetic, "*"),
    "try_divide": partial(tries.arithmetic, "/"),
    "try_mod": partial(tries.arithmetic, "%"),
    "greatest": partial(choices.extreme, "greatest"),
    "least": partial(choices.extreme, "least"),
    "coalesce": choices.coalesce,
    "nvl ifnull": choices.if_null,
    "nullif": choices.null_if,
    "nvl2": choices.if_there,
    "nullifzero": choices.null_if_zero,
    "zeroifnull": choices.zero_if_null,
    "if": choices.if_else,
    "decode": choices.decoded,
    "isnull": conditions.is_null_of,
    "isnotnull": conditions.is_there,
    "equal_null": conditions.same,
    "like": lists.like,
    "ilike": lists.ilike,
    "rlike regexp regexp_like": patterns.matches,
    "regexp_replace": patterns.replaced,
    "regexp_extract": patterns.extracted,
    "regexp_extract_all": patterns.all_extracted,
    "regexp_substr": patterns.first_found,
    "regexp_count": patterns.counted,
    "regexp_instr": patterns.place_found,
    "split": patterns.split,
    "array": containers.array,
    "array_size": containers.list_size,
    "map_contains_key": containers.has_key,
    "try_element_at": containers.try_element_at,
    "size cardinality": containers.size,
    "get": containers.get,
    "element_at": containers.element_at,
    "array_contains": containers.contains,
    "array_position": containers.position,
    "array_join": containers.joined,
    "array_compact": containers.compact,
    "array_append": partial(containers.added, "append"),
    "array_prepend": partial(containers.added, "prepend"),
    "array_distinct": containers.distinct,
    "map_keys": containers.map_keys,
    "map_values": containers.map_values,
    "date_add dateadd": partial(moments.days_later, "+"),
    "date_sub": partial(moments.days_later, "-"),
    "date_trunc": moments.truncated,
    "trunc": moments.truncated_date,
    "timestampadd": moments.later,
    "timestampdiff": moments.units_between,
    "extract date_part datepart": moments.part,
    "date_format": moments.formatted,
    "from_unixtime": moments.formatted_seconds,
    "unix_timestamp to_unix_timestamp": moments.seconds_of,
    "to_timestamp": moments.read,
    "timestamp_seconds": moments.timestamp_of_seconds,
    "int": partial(casts.named_cast, "int"),
    "bigint": partial(casts.named_cast, "bigint"),
    "double": partial(casts.named_cast, "double"),
    "boolean": partial(casts.named_cast, "boolean"),
    "string": partial(casts.named_cast, "string"),
    "binary": partial(casts.named_cast, "binary"),
    "timestamp": partial(casts.named_cast, "timestamp"),
}
# What the parser makes of syntax, and no user calls.
_SYNTAX: Final[Mapping[str, Callable[..., Value]]] = {
    "trim leading": partial(texts.trim_of, "lstrip"),
    "trim trailing": partial(texts.trim_of, "rstrip"),
    "is true": conditions.is_true_of,
    "is false": conditions.is_false_of,
    "in": lists.one_of,
    "between": lists.between,
    "date literal": partial(casts.typed_literal, "date"),
    "timestamp literal": partial(casts.typed_literal, "timestamp"),
    "timestamp_ltz literal": partial(casts.typed_literal, "timestamp"),
    "timestamp_ntz literal": partial(casts.typed_literal, "timestamp_ntz"),
    "x literal": casts.bytes_literal,
}
_FUNCTIONS: Final = {name: one for names, one in _SHAPES.items() for name in names.split()}
_COMPILERS: Final = {**_FUNCTIONS, **_SYNTAX}
# The names that a user may call.
COMPILED: Final = frozenset([*ROWS, *_FUNCTIONS])
