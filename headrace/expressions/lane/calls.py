"""The functions that are compiled, each under every name that Spark has for it."""

from __future__ import annotations

from functools import partial
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
)
from headrace.expressions.lane.nodes import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.expressions.lane.value import Scope, Value

_WHY_NOT: Final = {
    **dict.fromkeys(
        [
            "regexp_replace",
            "regexp_extract",
            "regexp_extract_all",
            "regexp_count",
            "regexp_instr",
            "regexp_substr",
            "split",
        ],
        "uses Java's regular expressions",
    ),
    **dict.fromkeys(
        [
            "date_format",
            "from_unixtime",
            "to_char",
            "to_number",
            "to_timestamp",
            "format_string",
            "printf",
        ],
        "uses Java's formats",
    ),
}


def call(scope: Scope, name: str, values: Sequence[Value]) -> Value:
    """Compile a call, or refuse a function or a number of arguments that is not known."""
    shape = _SHAPES.get(name)
    if shape is None:
        why = _WHY_NOT.get(name, "is left to Spark")
        raise Refused(f"{name}() {why}")
    least, most, compiled = shape
    if not least <= len(values) <= most:
        raise Refused(f"{name}() of {len(values)} arguments")
    return compiled(scope, values)


def _spread(function: Callable[..., Value]) -> Callable[[Scope, Sequence[Value]], Value]:
    return lambda scope, values: function(scope, *values)


def _pad(side: str, scope: Scope, *values: Value) -> Value:
    return texts.pad(scope, side, *values)


def _optional(
    function: Callable[..., Value], most: int
) -> Callable[[Scope, Sequence[Value]], Value]:
    return lambda scope, values: function(scope, *values, *[None] * (most - len(values)))


def _trim(method: str, *, signs_first: bool) -> Callable[[Scope, Sequence[Value]], Value]:
    def compiled(scope: Scope, values: Sequence[Value]) -> Value:
        if len(values) == 1:
            return texts.trim(scope, method, values[0], None)
        signs, text = values if signs_first else reversed(values)
        return texts.trim(scope, method, text, signs)

    return compiled


_Compiler = tuple[int, int, "Callable[[Scope, Sequence[Value]], Value]"]
_MANY: Final = 10_000
_ALIASES: Final = {
    "regexp": "rlike",
    "regexp_like": "rlike",
    "dateadd": "date_add",
    "ucase": "upper",
    "lcase": "lower",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "substr": "substring",
    "char": "chr",
    "position": "locate",
    "sha": "sha1",
    "signum": "sign",
    "ceiling": "ceil",
    "cardinality": "size",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "datediff": "date_diff",
}
_SHAPES: Final[dict[str, _Compiler]] = {
    "upper": (1, 1, _spread(texts.upper_case)),
    "lower": (1, 1, _spread(texts.lower_case)),
    "trim": (1, 2, _trim("strip", signs_first=True)),
    "ltrim": (1, 2, _trim("lstrip", signs_first=True)),
    "rtrim": (1, 2, _trim("rstrip", signs_first=True)),
    "btrim": (1, 2, _trim("strip", signs_first=False)),
    "trim leading": (2, 2, _trim("lstrip", signs_first=False)),
    "trim trailing": (2, 2, _trim("rstrip", signs_first=False)),
    "length": (1, 1, _spread(texts.length)),
    "octet_length": (1, 1, lambda scope, values: texts.octets(scope, values[0], 1)),
    "bit_length": (1, 1, lambda scope, values: texts.octets(scope, values[0], 8)),
    "concat": (0, _MANY, texts.concat),
    "concat_ws": (
        1,
        _MANY,
        lambda scope, values: texts.concat_with(scope, values[0], values[1:]),
    ),
    "substring": (2, 3, _optional(texts.substring, 3)),
    "left": (2, 2, _spread(texts.left)),
    "right": (2, 2, _spread(texts.right)),
    "replace": (2, 3, _optional(texts.replace, 3)),
    "startswith": (2, 2, lambda scope, values: texts.tested(scope, "startswith", *values)),
    "endswith": (2, 2, lambda scope, values: texts.tested(scope, "endswith", *values)),
    "contains": (2, 2, lambda scope, values: texts.tested(scope, "contains", *values)),
    "instr": (2, 2, _spread(texts.instr)),
    "locate": (2, 3, _optional(texts.locate, 3)),
    "lpad": (2, 3, _optional(partial(_pad, "lpad"), 3)),
    "rpad": (2, 3, _optional(partial(_pad, "rpad"), 3)),
    "reverse": (1, 1, _spread(texts.reverse)),
    "repeat": (2, 2, _spread(texts.repeat)),
    "split_part": (3, 3, _spread(texts.split_part)),
    "ascii": (1, 1, _spread(texts.code_of)),
    "chr": (1, 1, _spread(texts.sign_of_code)),
    "hex": (1, 1, _spread(texts.hexadecimal)),
    "base64": (1, 1, _spread(texts.base64)),
    "md5": (1, 1, _spread(texts.md5)),
    "sha1": (1, 1, _spread(texts.sha1)),
    "sha2": (2, 2, _spread(texts.sha2)),
    "crc32": (1, 1, _spread(texts.crc32)),
    "abs": (1, 1, _spread(arithmetic.absolute)),
    "sign": (1, 1, _spread(arithmetic.sign_of)),
    "floor": (1, 1, _spread(arithmetic.floor)),
    "ceil": (1, 1, _spread(arithmetic.ceil)),
    "round": (1, 2, _optional(arithmetic.rounded, 2)),
    "negative": (1, 1, _spread(arithmetic.negative)),
    "positive": (1, 1, lambda _, values: arithmetic.positive(values[0])),
    "mod": (2, 2, lambda scope, values: arithmetic.arithmetic(scope, "%", *values)),
    "pmod": (2, 2, _spread(arithmetic.modulus)),
    "div": (2, 2, lambda scope, values: arithmetic.arithmetic(scope, "div", *values)),
    "isnan": (1, 1, _spread(arithmetic.is_nan)),
    "greatest": (2, _MANY, lambda scope, values: choices.extreme(scope, "greatest", values)),
    "least": (2, _MANY, lambda scope, values: choices.extreme(scope, "least", values)),
    "coalesce": (1, _MANY, choices.coalesce),
    "nullif": (2, 2, _spread(choices.null_if)),
    "nvl2": (3, 3, _spread(choices.if_there)),
    "if": (3, 3, lambda scope, values: choices.case(scope, [(values[0], values[1])], values[2])),
    "isnull": (1, 1, lambda _, values: conditions.is_null(values[0])),
    "isnotnull": (
        1,
        1,
        lambda scope, values: conditions.negation(scope, conditions.is_null(values[0])),
    ),
    "is true": (1, 1, lambda _, values: conditions.is_true(_asked(values))),
    "is false": (1, 1, lambda scope, values: conditions.is_false(scope, _asked(values))),
    "equal_null": (2, 2, _spread(conditions.same)),
    "in": (1, _MANY, lambda scope, values: lists.one_of(scope, values[0], values[1:])),
    "between": (3, 3, _spread(lists.between)),
    "rlike": (2, 2, _spread(patterns.matches)),
    "hash": (1, _MANY, lambda scope, values: texts.hashed(scope, "hash", values)),
    "xxhash64": (1, _MANY, lambda scope, values: texts.hashed(scope, "xxhash64", values)),
    "substring_index": (3, 3, _spread(texts.before_sign)),
    "translate": (3, 3, _spread(texts.translate)),
    "array_size": (1, 1, _spread(containers.list_size)),
    "map_contains_key": (2, 2, _spread(containers.has_key)),
    "try_element_at": (2, 2, _spread(containers.try_element_at)),
    "date_add": (2, 2, lambda scope, values: moments.days_later(scope, "+", *values)),
    "date_sub": (2, 2, lambda scope, values: moments.days_later(scope, "-", *values)),
    "like": (2, 3, _optional(lists.like, 3)),
    "size": (1, 1, _spread(containers.size)),
    "get": (2, 2, _spread(containers.get)),
    "element_at": (2, 2, _spread(containers.element_at)),
    "array_contains": (2, 2, _spread(containers.contains)),
    "date literal": (1, 1, lambda scope, values: casts.typed_literal(scope, "date", values[0])),
    "timestamp literal": (
        1,
        1,
        lambda scope, values: casts.typed_literal(scope, "timestamp", values[0]),
    ),
    "date_trunc": (2, 2, _spread(moments.truncated)),
    "to_date": (1, 1, lambda scope, values: casts.named_cast(scope, values[0], "date")),
    "unix_date": (1, 1, _spread(moments.days_since_1970)),
    "date_from_unix_date": (1, 1, _spread(moments.date_since_1970)),
    "date_diff": (2, 2, _spread(moments.days_between)),
}


def _asked(values: Sequence[Value]) -> Value:
    return conditions.condition(values[0], "IS TRUE")


def _named(function: Callable[[Scope, str, Value], Value], names: str) -> Mapping[str, _Compiler]:
    def one(name: str) -> _Compiler:
        return 1, 1, lambda scope, values: function(scope, name, values[0])

    return {name: one(name) for name in names.split()}


def _cast(scope: Scope, name: str, value: Value) -> Value:
    return casts.named_cast(scope, value, name)


_SHAPES.update(_named(moments.part_of_date, "year quarter month day dayofmonth dayofyear"))
_SHAPES.update(_named(moments.day_of_week, "dayofweek weekday"))
_SHAPES.update(_named(moments.part_of_day, "hour minute second"))
_SHAPES.update(_named(moments.since_1970, "unix_seconds unix_millis unix_micros"))
_SHAPES.update(_named(moments.from_1970, "timestamp_seconds timestamp_millis timestamp_micros"))
_SHAPES.update(_named(_cast, "int bigint double boolean string binary date timestamp"))
_SHAPES.update({alias: _SHAPES[name] for alias, name in _ALIASES.items()})
# The names that a user may call; the others of the table are syntax.
COMPILED: Final = frozenset(name for name in _SHAPES if " " not in name) - {"in", "between"}
