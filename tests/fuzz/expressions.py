"""Compiled expressions over any record: each gives a value of its type, or a reason.

And the compiler under any text: it compiles it or says why not.
"""

from __future__ import annotations

import decimal
import math
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from headrace.expressions.compiled.compiler import (
    Compiled,
    NotCompiled,
    Undefined,
    compile_expression,
    compile_filter,
)
from headrace.expressions.projection import check_filter
from headrace.schema.model import Array, Primitive
from tests.fuzz.patterns import like
from tests.fuzz.target import Target, check_reason
from tests.integration.expressions.cases import CASES
from tests.integration.expressions.rows import SCHEMA, instance

if TYPE_CHECKING:
    from types import CodeType

    from headrace.schema.model import Type

_LIMITS: Final = {
    Primitive.INT: 2**31,
    Primitive.DATE: 2**31,
    Primitive.LONG: 2**63,
    Primitive.TIMESTAMP_MICROS: 2**63,
    Primitive.LOCAL_TIMESTAMP_MICROS: 2**63,
}
_PYTHON: Final[dict[Primitive, type]] = {
    Primitive.STRING: str,
    Primitive.BOOLEAN: bool,
    Primitive.DOUBLE: float,
    Primitive.BYTES: bytes,
}
# One of them is asked of an input: the one that its first line is, or else chooses.
_COMPILED: Final[dict[bytes, tuple[Compiled, CodeType]]] = {
    text.encode(): (found, compile(found.source, text, "eval"))
    for text in CASES
    if isinstance(found := compile_expression(text, SCHEMA), Compiled) and not found.metadata
}
_TEXTS: Final = sorted(_COMPILED)


def row_of(value: bytes) -> Any:  # noqa: ANN401 - a row's class is made at run time
    """Return a row out of bytes: numbers from the front, texts from what is left."""
    numbers, rest = value[:32].ljust(32, b"\0"), value[32:]
    int_, date, long, micros, double = struct.unpack("<iiqqd", numbers)
    text, _, other = rest.partition(b"\xff")
    s, s0 = text.decode("utf-8", "replace"), other.decode("utf-8", "replace")
    words: list[str | None] = [*s0.split(",")]
    row = dict.fromkeys(field.name for field in SCHEMA.fields)
    row |= {"s": s, "i": int_, "l": long, "d": double, "b": date % 2 == 0, "ts": micros}
    row |= {"lt": long, "da": date, "y": other, "xs": words, "ns": [int_, date], "e": "play"}
    row |= {"m": {word or "": long for word in words}, "st": {"a": s0, "b": int_}, "date": date}
    row |= {"dec": decimal.Decimal(int_ % 1000).scaleb(-2), "tm": micros // 1000 * 1000}
    row |= {"s0": s0, "i0": date, "l0": micros, "d0": None if math.isnan(double) else double}
    row |= {"ts0": long, "da0": int_, "y0": text, "xs0": [None, *words]}
    return instance(SCHEMA, row)


def _run(value: bytes) -> None:
    line, _, rest = value.partition(b"\n")
    chosen = line if line in _COMPILED else _TEXTS[zlib.crc32(line) % len(_TEXTS)]
    text, (compiled, code) = chosen.decode(), _COMPILED[chosen]
    try:
        found = eval(code, {**compiled.constants, "r": row_of(rest)})  # noqa: S307 - what is tested
    except Undefined as reason:
        check_reason(str(reason)[:100])
        return
    assert found is not None or compiled.nullable, text
    check_value(found, compiled.type, text)


def check_value(found: Any, type_: Type, text: str) -> None:  # noqa: ANN401 - whatever an expression gives
    """Check that a value is what a writer of that type takes."""
    if found is None:
        return
    if isinstance(type_, Array):
        for one in found:
            check_value(one, type_.item, text)
    elif type_ in _LIMITS:
        limit = _LIMITS[type_]
        assert type(found) is int, text
        assert -limit <= found < limit, text
    elif isinstance(type_, Primitive) and type_ in _PYTHON:
        assert type(found) is _PYTHON[type_], text
    if isinstance(found, str):
        assert found.encode() is not None, text


def _compile(value: bytes) -> None:
    text = value.decode("utf-8", "replace")
    for compile_one in (compile_expression, compile_filter):
        found = compile_one(text, SCHEMA)
        if isinstance(found, NotCompiled):
            assert found.reason
    if len(text) < 200:
        check_filter(text, SCHEMA)


def _like(value: bytes) -> None:
    text, _, pattern = value[:60].decode("latin-1").partition("\xff")
    quoted = pattern.replace("\\", "").replace("'", "").replace("$", "")
    found = compile_expression(f"s LIKE '{quoted}'", SCHEMA)
    assert isinstance(found, Compiled), found
    row = row_of(b"\0" * 32 + text.encode())
    answer = eval(found.source, {**found.constants, "r": row})  # noqa: S307 - what is tested
    assert answer is like(row.f0, quoted)


def _seed(number: int) -> bytes:
    numbers = struct.pack("<iiqqd", number - 9, 19782 + number, 7**number % 2**60, 10**15, 1.5)
    texts = ("a,b", "2024-02-29", " 42 ", "ΣΑΣ", "%41+", "1e5", "😀", "0x1p3")
    return _TEXTS[number] + b"\n" + numbers + texts[number % 8].encode() + b"\xffab,b"


TARGETS: Final = (
    Target("expressions", _run, tuple(_seed(number) for number in range(len(_TEXTS)))),
    Target("expression-text", _compile, tuple(text.encode() for text in CASES[::4])),
    Target("like", _like, (b"abcab\xff%a%b", b"aXb\xffa_b%", b"aaa\xff%a_%", b"\xff%")),
)
