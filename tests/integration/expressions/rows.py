"""Rows with a column of every type, and what compiled expressions give for them."""

from __future__ import annotations

import decimal
import math
import random
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from headrace.contract import METADATA
from headrace.expressions.compiled.compiler import Compiled, Undefined
from headrace.records.rows import row_class
from headrace.schema.model import Array, Decimal, Enumeration, Field, Map, Primitive, Record

if TYPE_CHECKING:
    from headrace.schema.model import Type

INNER: Final = Record(
    "tests.Inner",
    (Field("a", Primitive.STRING, nullable=True), Field("b", Primitive.INT, nullable=False)),
)
_TYPES: Final[dict[str, Type]] = {
    "s": Primitive.STRING,
    "i": Primitive.INT,
    "l": Primitive.LONG,
    "d": Primitive.DOUBLE,
    "b": Primitive.BOOLEAN,
    "ts": Primitive.TIMESTAMP_MICROS,
    "da": Primitive.DATE,
    "lt": Primitive.LOCAL_TIMESTAMP_MICROS,
    "y": Primitive.BYTES,
    "xs": Array(Primitive.STRING, item_nullable=True),
    "ns": Array(Primitive.INT, item_nullable=False),
    "m": Map(Primitive.LONG, item_nullable=False),
    "st": INNER,
    "dec": Decimal(10, 2),
}
# Each type twice: `s` is always there, `s0` may be null.
SCHEMA: Final = Record(
    "tests.Row",
    (
        *(Field(name, type_, nullable=False) for name, type_ in _TYPES.items()),
        *(Field(f"{name}0", type_, nullable=True) for name, type_ in _TYPES.items()),
        Field("e", Enumeration("tests.E", ("play", "stop")), nullable=False),
        Field("u", Primitive.UUID, nullable=True),
        Field("tm", Primitive.TIMESTAMP_MILLIS, nullable=False),
        Field("f0", Primitive.FLOAT, nullable=True),
        Field("date", Primitive.DATE, nullable=False),
    ),
)
TEXTS: Final = (
    *("", " ", "a", "A", "abc", "ABC", "  abc ", "start", "a%b", "a_b", "a\\b", "axxb", "\t x \n"),
    *("ß", "ŒUVRE", "İstanbul", "\u0131I", "ΣΑΣ", "ΑΣ'", "e\u0301a", "😀", "a😀b", "\U00010d50"),
    *("a,b,,c", ",", ",,", "true", " T ", "no", "1", " 42 ", "-7", "+0012", "2147483648", "1.5"),
    *("99999999999999999999", "x" * 40, "\uffff", "\U0010ffff", "a'b\"c`d", "play", "aaa"),
    *(
        "\x00",
        "\x7f1\x7f",
        "\u00a01",
        "\u0663",
        "ababab",
        "ab\r\n",
        "b\n",
        "ab\u2028",
        "b\r",
        "b\n\n",
    ),
    *(
        "1e5",
        "NaN",
        "+NaN",
        "-Infinity",
        "inf",
        "0x1p3",
        "0x1p9999",
        "1d",
        ".5",
        "5.",
        "7f ",
        "1e999",
    ),
    *("2024-02-29", "2024-2-9", "2024", "2023-02-29", " 2024-02-29T10 ", "+2024-01", "-0001-01-01"),
    *("12345678-01-01", "9999999-12-31", "2024-01-01 x", "2024-01x", "0000-01-01", "024-01-01"),
)
INTS: Final = (0, 1, -1, 2, 3, -2, 5, 7, 10, 64, 65, 255, 256, 1000, -37, 2**31 - 1, -(2**31))
LONGS: Final = (*INTS, 2**31, -(2**31) - 1, 2**53 + 1, 10**15, 2**63 - 1, -(2**63), 1_700_000_000)
DOUBLES: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1e15, 1e300, -1e300, 5e-324, 3.99),
    *(math.nan, math.inf, -math.inf, 2.0**31, -(2.0**31) - 1, 2.0**63, -(2.0**63), 2.0**53, 9e18),
    *(2147483647.5, -2147483648.5, 7.0, 10.0),
)
DAYS: Final = (
    0,
    -1,
    1,
    19_782,
    -141_428,
    -141_427,
    2_932_896,
    2_932_897,
    -719_162,
    -719_163,
    10_957,
)
DECIMALS: Final = tuple(map(decimal.Decimal, ("0.00", "1.00", "1.50", "-2.25", "99.99")))
DAY_US: Final = 86_400_000_000
MICROS: Final = (
    *(day * DAY_US for day in DAYS),
    *(0, -1, 1, 999_999, 1_000_000, 1_700_000_000_123_456, -62_135_596_800_000_000),
    *(1_709_210_096_789_000, 253_402_300_799_999_999, 1_583_020_800_000_000),
)


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no value: Spark threw, or the Python raised Undefined."""


FAILED: Final = Failed()


class Rows:
    """Random rows of one schema."""

    def __init__(self, seed: int, count: int) -> None:
        self._random = random.Random(seed)
        self.schema = SCHEMA
        self.plain = [self._row(number) for number in range(count)]

    def _row(self, number: int) -> dict[str, Any]:
        row = {field.name: self._field(field) for field in self.schema.fields}
        row["date"] = DAYS[number % len(DAYS)]
        row[METADATA] = {
            "kafka_ingestion_ts": self._of(Primitive.TIMESTAMP_MILLIS),
            "topic": "raw",
            "partition": number % 3,
            "offset": number,
            "region": None if number % 2 else "us-east-1",
        }
        return row

    def _field(self, field: Field) -> Any:  # noqa: ANN401 - whatever the type holds
        if field.nullable and self._random.random() < 0.25:
            return None
        return self._of(field.type)

    def _of(self, type_: Type) -> Any:  # noqa: ANN401 - as above
        pick = self._random.choice
        match type_:
            case Array():
                nullable = Field("item", type_.item, type_.item_nullable)
                return [self._field(nullable) for _ in range(self._random.randrange(4))]
            case Map():
                return {key: self._of(type_.item) for key in "ab" if self._random.random() < 0.7}
            case Record():
                return {field.name: self._field(field) for field in type_.fields}
            case Enumeration():
                return pick(type_.symbols)
            case Decimal():
                return pick(DECIMALS)
        return self._primitive(type_)

    def _primitive(self, type_: Type) -> Any:  # noqa: ANN401 - as above
        pick = self._random.choice
        match type_:
            case Primitive.STRING:
                return pick(TEXTS) if self._random.random() < 0.9 else pick(TEXTS) + pick(TEXTS)
            case Primitive.INT:
                return pick(INTS)
            case Primitive.LONG:
                return pick(LONGS)
            case Primitive.DOUBLE:
                return pick(DOUBLES)
            case Primitive.FLOAT:
                return pick((0.5, -1.25, math.nan, 0.0))
            case Primitive.BOOLEAN:
                return pick((True, False))
            case Primitive.DATE:
                return pick(DAYS)
            case Primitive.UUID:
                return "0d2c6a3e-8c1f-4b8e-9b43-3f8f2f1c9a10"
            case Primitive.BYTES:
                return pick((b"", b"abc", b"\x00\xff", "é😀".encode()))
        micros = pick(MICROS)
        return micros // 1000 * 1000 if type_ is Primitive.TIMESTAMP_MILLIS else micros

    @cached_property
    def instances(self) -> list[tuple[Any, dict[str, object]]]:
        """Each record as tasks hold it, and its metadata as variables."""
        return [
            (instance(self.schema, row), {f"m_{k}": v for k, v in row[METADATA].items()})
            for row in self.plain
        ]


def instance(record: Record, row: dict[str, Any]) -> Any:  # noqa: ANN401 - a row's class is made at run time
    """Return a record as tasks hold it."""
    values = []
    for field in record.fields:
        value = row[field.name]
        is_record = isinstance(field.type, Record) and value is not None
        values.append(instance(field.type, value) if is_record else value)  # type: ignore[arg-type]
    return row_class(record)(*values)


def in_python(compiled: Compiled, rows: Rows) -> list[object]:
    """Return the value of each row, or FAILED."""
    code = compile(compiled.source, "<compiled>", "eval")
    answers: list[object] = []
    for record, metadata in rows.instances:
        try:
            value = eval(code, {**compiled.constants, **metadata, "r": record})  # noqa: S307 - what is tested
        except Undefined:
            answers.append(FAILED)
        else:
            answers.append(comparable(value))
    return answers


def comparable(value: Any) -> object:  # noqa: ANN401 - whatever an expression gives
    """Return a value in a form where equal means the same to Spark, -0.0 and NaN told apart."""
    match value:
        case float():
            return repr(value)
        case bool():
            return str(value)
        case msgspec.Struct():
            names = value.__struct_encode_fields__
            return comparable(dict(zip(names, msgspec.structs.astuple(value), strict=True)))
        case list():
            if value and all(isinstance(one, tuple) for one in value):
                return {key: comparable(one) for key, one in value}
            return [comparable(one) for one in value]
        case dict():
            return {key: comparable(one) for key, one in value.items()}
    return value
