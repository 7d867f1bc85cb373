"""Poisons for compiled expressions: texts on which a function would look again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.poisons.model import Poison
from headrace.expressions.compiled.compiler import NotCompiled, Undefined, compile_expression
from headrace.records.rows import row_class
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable

_SCHEMA: Final = Record(
    "Poisoned",
    (
        Field("s", Primitive.STRING, nullable=False),
        Field("n", Primitive.INT, nullable=False),
    ),
)
_ROW: Final = row_class(_SCHEMA)
_LARGEST_INT: Final = 2**31 - 1


def _evaluated(text: str) -> Callable[[bytes], object]:
    compiled = compile_expression(text, _SCHEMA)
    if isinstance(compiled, NotCompiled):
        raise ValueError(  # noqa: TRY004 - the text is the mistake
            f"{text}: {compiled.reason}"
        )
    code = compile(compiled.source, text, "eval")

    def run(value: bytes) -> object:
        row = _ROW(value.decode(), _LARGEST_INT)
        try:
            return eval(code, {**compiled.constants, "r": row})  # noqa: S307 - what is measured
        except Undefined:
            return None

    return run


def _of(unit: str, end: str = "") -> Callable[[int], bytes]:
    return lambda size: (unit * (size // len(unit.encode())) + end).encode()


_CASES: Final[tuple[tuple[str, Callable[[int], bytes]], ...]] = (
    ("s LIKE '%a%b%c%d%e'", _of("ab")),
    ("s LIKE '%a_%b_%a_%x%'", _of("ab")),
    ("s ILIKE '%İ%a%b'", _of("aİ")),
    ("s RLIKE '[a-z]+[0-9]+x'", _of("a1")),
    ("s RLIKE '^[a-z]+,[a-z]+,x'", _of("a")),
    ("regexp_replace(s, 'a', 'bcdefghij')", _of("a")),
    ("regexp_extract(s, 'a=([0-9]+)x', 1)", _of("a=1")),
    ("regexp_count(s, '[^a]')", _of("b")),
    ("split(s, ',')", _of(",")),
    ("cast(s as double)", _of("1", "x")),
    ("cast(s as double)", _of("1")),
    ("try_cast(s as double)", _of("0.1e", "1")),
    ("cast(s as bigint)", _of("0", "x")),
    ("cast(s as date)", _of(" ", "x")),
    ("repeat(s, n)", _of("a")),
    ("lpad(s, n, s)", _of("a")),
    ("rpad(s, n, 'ab')", _of("a")),
    ("space(n)", _of("a")),
    ("replace(s, 'a', s)", _of("a")),
    ("concat_ws(s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s)", _of("a")),
    ("concat(s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s)", _of("a")),
    ("trim(s FROM s)", _of("ab")),
    ("rtrim(concat(s, 'x'), s)", _of("é")),
    ("translate(s, s, s)", _of("ab")),
    ("substring_index(s, 'aa', 1000000)", _of("a")),
    ("substring_index(s, 'aa', -1000000)", _of("a")),
    ("split_part(s, 'a', n)", _of("a")),
    ("instr(s, concat(s, 'x'))", _of("ab")),
    ("find_in_set(s, s)", _of("a")),
    ("overlay(s, s, n, -1)", _of("a")),
    ("url_encode(s)", _of("é")),
    ("url_decode(s)", _of("%41")),
    ("conv(s, 10, 16)", _of("0")),
    ("luhn_check(s)", _of("0")),
    ("unhex(s)", _of("0g")),
    ("upper(s)", _of("ŉ")),
    ("lower(s)", _of("ΑΣ")),
    ("hash(s)", _of("abcd")),
    ("xxhash64(s)", _of("abcd")),
    ("array_distinct(split(s, ','))", _of("a,b,")),
    ("array_join(split(s, ','), s)", _of("a,")),
    ("to_timestamp(s, 'yyyy-MM-dd')", _of("2")),
)
POISONS: Final = tuple(
    Poison(f"{text} of {make(8).decode()!r}…", make, _evaluated(text)) for text, make in _CASES
)
