"""Random expressions over the columns of rows.SCHEMA, with as few parentheses as may be."""

from __future__ import annotations

import random
from typing import Final, Literal

from tests.integration.expressions.rows import TEXTS

Kind = Literal["int", "long", "double", "text", "truth", "moment", "day"]

_COLUMNS: Final[dict[Kind, str]] = {
    "int": "i i0 st.b st0.b ns[0] __metadata__.partition",
    "long": "l l0 m['a'] m0.b __metadata__.offset",
    "double": "d d0",
    "text": "s s0 e u st.a st0.a xs[0] __metadata__.region",
    "truth": "b b0",
    "moment": "ts ts0 tm __metadata__.kafka_ingestion_ts",
    "day": "da da0",
}
# `{int}` stands for an expression of that kind.
_SHAPES: Final[dict[Kind, tuple[str, ...]]] = {
    "int": (
        "{int} + {int}",
        "{int} - {int}",
        "{int} * {int}",
        "{int} % {int}",
        "{int} & {int}",
        "{int} | {int}",
        "{int} ^ {int}",
        "-({int})",
        "~({int})",
        "abs({int})",
        "pmod({int}, {int})",
        "length({text})",
        "instr({text}, {text})",
        "ascii({text})",
        "year({moment})",
        "dayofweek({day})",
        "cast({truth} as int)",
        "size(xs0)",
        "{int} << {int}",
        "bit_count({long})",
        "try_add({column}, {column})",
        "regexp_count({text}, '[a-c]')",
        "datediff({day}, {moment})",
        "weekofyear({day})",
    ),
    "long": (
        "{long} + {int}",
        "{int} - {long}",
        "{long} * {int}",
        "{long} div {int}",
        "{int} div {long}",
        "{long} % {long}",
        "cast({int} as bigint)",
        "cast({double} as bigint)",
        "floor({double})",
        "unix_seconds({moment})",
        "crc32({text})",
        "try_cast({text} as bigint)",
        "timestampdiff(MONTH, {moment}, ts)",
    ),
    "double": (
        "{double} + {double}",
        "{double} * {int}",
        "{int} / {int}",
        "{long} / {double}",
        "{double} % {double}",
        "{double} - 1.5",
        "-({double})",
        "cast({long} as double)",
        "sign({int})",
    ),
    "text": (
        "{text} || {text}",
        "concat({text}, {int}, {long})",
        "concat_ws('-', {sure}, {sure})",
        "upper({text})",
        "lower({text})",
        "trim({text})",
        "substring({text}, {int}, 3)",
        "substring({text}, 2)",
        "left({text}, 3)",
        "replace({text}, 'a', {text})",
        "lpad({text}, 6, 'xy')",
        "reverse({text})",
        "cast({day} as string)",
        "cast({moment} as string)",
        "hex({long})",
        "md5({text})",
        "regexp_replace({text}, '([a-c])[0-9]?', '$1_')",
        "regexp_extract({text}, '(a|b)(c)?', 1)",
        "overlay({text}, {text}, {int})",
        "url_encode({text})",
        "conv({text}, 16, 10)",
        "date_format({moment}, 'yyyy-MM-dd HH')",
        "split({text}, '[,a]')[0]",
    ),
    "truth": (
        "{truth} and {truth}",
        "{truth} or {truth}",
        "not ({truth})",
        "not {operand} = {operand}",
        "{int} = {long}",
        "{int} < {int}",
        "{long} >= {double}",
        "{double} <> {double}",
        "{double} <= {double}",
        "{text} = {text}",
        "{text} < {text}",
        "{text} <=> {text}",
        "{double} <=> {double}",
        "{int} in (1, 2, {int})",
        "{text} in ('a', 'start', '')",
        "s0 not in ('a', null)",
        "{sure} between 'a' and {text}",
        "{operand} between {int} and {int}",
        "{text} like '%a_%'",
        "{text} like 'a%b_%c'",
        "{text} ilike '%ß%'",
        "{text} rlike '[a-z]+[0-9]'",
        "luhn_check({text})",
        "({text}) is null",
        "({int}) is not null",
        "({truth}) is true",
        "startswith({text}, 'a')",
        "contains({text}, {text})",
        "{moment} > {day}",
        "{day} = '2024-02-29'",
        "isnan({double})",
        "array_contains(xs, {text})",
    ),
    "moment": (
        "date_trunc('hour', {moment})",
        "date_trunc('month', {moment})",
        "cast({day} as timestamp)",
        "timestamp_millis({int})",
        "timestampadd(MONTH, {int} % 1000, {moment})",
        "timestampadd(HOUR, {int}, {moment})",
    ),
    "day": (
        "last_day({day})",
        "add_months({day}, {int} % 1000)",
        "trunc({day}, 'week')",
        "cast({moment} as date)",
        "date_from_unix_date(pmod({int}, 40000))",
    ),
}
_ANY: Final = (
    "case when {truth} then {X} else {X} end",
    "case when {truth} then {X} when {truth} then {X} end",
    "if({truth}, {X}, {X})",
    "coalesce({X}, {X})",
    "nullif({column}, {X})",
    "nvl2({text}, {X}, {X})",
    "case {text} when 'a' then {X} when {text} then {X} end",
)
# These stand within a larger expression without parentheses: the grammar says what binds.
_BARE: Final = frozenset([*_SHAPES["int"][:8], *_SHAPES["long"][:6], *_SHAPES["truth"][:2]])


class Expressions:
    """An endless source of expressions, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def next(self) -> str:
        """Return another expression of any kind."""
        kind = self._random.choice(list(_SHAPES))
        return self._of(kind, self._random.choice((1, 2, 2, 3)))

    def _of(self, kind: Kind, depth: int, *, is_first: bool = False) -> str:
        if depth == 0 or self._random.random() < 0.1:
            # A column within each call: what is constant fails while Spark plans the query.
            return self._column(kind) if is_first else self._leaf(kind)
        shapes = _SHAPES[kind]
        shape = self._random.choice(shapes if self._random.random() < 0.8 else _ANY)
        text = self._filled(shape, kind, depth)
        may_be_bare = shape in _BARE or text.endswith((")", " end"))
        return text if may_be_bare and self._random.random() < 0.7 else f"({text})"

    def _filled(self, shape: str, kind: Kind, depth: int) -> str:
        """Return a shape with an expression at each of its places."""
        done = ""
        chosen: set[str] = set()
        while "{" in shape:
            before, _, rest = shape.partition("{")
            hole, _, shape = rest.partition("}")
            # Spark's plan drops a choice between equal values, and a comparison of a value with
            # itself, and with them the errors of what they are made of.
            tries = (self._hole(hole, kind, depth, is_first=not done) for _ in range(200))
            text = next(one for one in tries if one.strip("()") not in chosen)
            chosen.add(text.strip("()"))
            done += before + text
        return done + shape

    def _hole(self, hole: str, kind: Kind, depth: int, *, is_first: bool) -> str:
        match hole:
            case "X":
                return self._of(kind, depth - 1, is_first=is_first)
            case "column":
                return self._random.choice(_COLUMNS[kind].split()[:2])
            case "operand":
                return self._random.choice(("i", "i0", "l", "length(s0)"))
            case "sure":
                return self._random.choice(("s", "s0", "e", "upper(s0)"))
            case "int" | "long" | "double" | "text" | "truth" | "moment" | "day":
                return self._of(hole, depth - 1, is_first=is_first)
        raise ValueError(hole)

    def _column(self, kind: Kind) -> str:
        return self._random.choice(_COLUMNS[kind].split())

    def _leaf(self, kind: Kind) -> str:
        if self._random.random() < 0.7:
            return self._column(kind)
        pick = self._random.choice
        match kind:
            case "int":
                return pick(("0", "1", "-1", "7", "2147483647"))
            case "long":
                return pick(("0L", "2147483648", "-5L", "9223372036854775807"))
            case "double":
                return pick(("0D", "-0.5D", "1e300", "2.5D"))
            case "text":
                quoted = pick(TEXTS).replace("\\", "\\\\").replace("'", "\\'")
                return f"'{quoted}'"
            case "truth":
                return pick(("s = 'start'", "i0 > 1", "l = 5", "d0 is null", "e <> 'stop'"))
            case "moment":
                return pick(("TIMESTAMP '2024-02-29 10:11:12.5'", "tm"))
        return pick(("DATE '1582-10-15'", "date"))
