"""Every type of a schema from JSON: the good values, and a sentence for each bad one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.formats.decode import ERROR, decode
from headrace.schema.model import (
    Array,
    Decimal,
    Enumeration,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Type,
)
from tests.integration.formats.kafka_rows import kafka_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Row, SparkSession

OTHER_TYPE = "a field has another type than the schema says"
NO_OBJECT = "not a JSON object"

POINT = Record(
    "tv.Point",
    (
        Field("x", Primitive.INT, nullable=False),
        Field("at", Primitive.TIMESTAMP_MILLIS, nullable=True),
        Field("unit", Primitive.STRING, nullable=False, default='"m"'),
    ),
)
TYPES: dict[str, Type] = {
    "flag": Primitive.BOOLEAN,
    "int": Primitive.INT,
    "long": Primitive.LONG,
    "float": Primitive.FLOAT,
    "double": Primitive.DOUBLE,
    "bytes": Primitive.BYTES,
    "text": Primitive.STRING,
    "uuid": Primitive.UUID,
    "date": Primitive.DATE,
    "clock_ms": Primitive.TIME_MILLIS,
    "clock_us": Primitive.TIME_MICROS,
    "ts_ms": Primitive.TIMESTAMP_MILLIS,
    "ts_us": Primitive.TIMESTAMP_MICROS,
    "local_ms": Primitive.LOCAL_TIMESTAMP_MILLIS,
    "local_us": Primitive.LOCAL_TIMESTAMP_MICROS,
    "price": Decimal(9, 2),
    "large": Decimal(38, 10),
    "digest": Fixed("tv.Digest", 2),
    "kind": Enumeration("tv.Kind", ("start", "stop")),
    "point": POINT,
    "times": Array(Primitive.TIMESTAMP_MILLIS, item_nullable=True),
    "words": Array(Primitive.STRING, item_nullable=False),
    "points": Array(POINT, item_nullable=False),
    "when": Map(Primitive.TIMESTAMP_MICROS, value_nullable=True),
    "counts": Map(Primitive.LONG, value_nullable=False),
}
SCHEMA = Record("tv.Every", tuple(Field(n, kind, nullable=True) for n, kind in TYPES.items()))

# What a field becomes, as Spark writes it down: {field: {JSON text: value}}.
GOOD: dict[str, dict[str, str | None]] = {
    "flag": {"true": "true", "false": "false", "null": None},
    "int": {"-2147483648": "-2147483648", "2147483647": "2147483647"},
    "long": {"9223372036854775807": "9223372036854775807", "-9223372036854775808": str(-(2**63))},
    "float": {"0.1": "0.1", '"NaN"': "NaN", '"-Infinity"': "-Infinity"},
    "double": {"5e-324": "4.9E-324", "1": "1.0", '"Infinity"': "Infinity", "NaN": "NaN"},
    "bytes": {'"aGk="': "hi", '""': ""},
    "text": {'""': "", '"é\\n\\u0000"': "é\n\0", '"' + "x" * 100 + '"': "x" * 100},
    "uuid": {'"abc"': "abc"},
    "date": {
        '"2026-03-01"': "2026-03-01",
        "-1": "1969-12-31",
        "0": "1970-01-01",
        '"0001-01-01"': "0001-01-01",
        '"9999-12-31"': "9999-12-31",
    },
    "clock_ms": {'"23:59:59.999"': "86399999", "0": "0", '"10:20:30"': "37230000"},
    "clock_us": {'"23:59:59.999999"': "86399999999", "86399999999": "86399999999"},
    "ts_ms": {
        "1772323200123": "2026-03-01 00:00:00.123",
        '"1772323200123"': "2026-03-01 00:00:00.123",
        "-1": "1969-12-31 23:59:59.999",
        '"2026-03-01T10:20:30.123Z"': "2026-03-01 10:20:30.123",
        '"2026-03-01T10:20:30+02:00"': "2026-03-01 08:20:30",
        '"2026-03-01 10:20:30"': "2026-03-01 10:20:30",
        '"2026-03-01"': "2026-03-01 00:00:00",
        "253402300799999": "9999-12-31 23:59:59.999",
        "-62135596800000": "0001-01-01 00:00:00",
    },
    "ts_us": {
        "1772323200123456": "2026-03-01 00:00:00.123456",
        '"2026-03-01T10:20:30.123456Z"': "2026-03-01 10:20:30.123456",
    },
    "local_ms": {
        "1772323200123": "2026-03-01 00:00:00.123",
        '"2026-03-01T10:20:30.123"': "2026-03-01 10:20:30.123",
    },
    "local_us": {'"2026-03-01T10:20:30.123456"': "2026-03-01 10:20:30.123456"},
    "price": {
        "1.5": "1.50",
        '"1.23"': "1.23",
        "-9999999.99": "-9999999.99",
        "1e2": "100.00",
        "1.230000": "1.23",
    },
    "large": {"9999999999999999999999999999.9999999999": "9" * 28 + "." + "9" * 10},
    "digest": {'"aGk="': "hi"},
    "kind": {'"start"': "start"},
    "point": {
        '{"x":1}': "{1, null, m}",
        '{"x":1,"at":5,"unit":"km","more":[1]}': "{1, 1970-01-01 00:00:00.005, km}",
    },
    "times": {"[0,null]": "[1970-01-01 00:00:00, null]", "[]": "[]"},
    "words": {'["a",""]': "[a, ]"},
    "points": {'[{"x":1},{"x":2,"unit":"cm"}]': "[{1, null, m}, {2, null, cm}]"},
    "when": {'{"a":1,"b":null}': "{a -> 1970-01-01 00:00:00.000001, b -> null}"},
    "counts": {'{"a":1}': "{a -> 1}", "{}": "{}"},
}
NO_DECIMAL_OF_38 = "a field has another type than the schema says"
BAD: dict[str, dict[str, str]] = {
    "flag": {"1": OTHER_TYPE, '"true"': OTHER_TYPE},
    "int": {"2147483648": OTHER_TYPE, "1.0": OTHER_TYPE, '"1"': OTHER_TYPE, "1e400": OTHER_TYPE},
    "long": {"9223372036854775808": OTHER_TYPE, "9" * 40: OTHER_TYPE, "[1]": OTHER_TYPE},
    "float": {"1e39": "float is no float: Infinity", '"x"': OTHER_TYPE},
    "double": {
        "1e400": "double is no double: Infinity",
        "-1e400": "double is no double: -Infinity",
        "1e9999999999": "double is no double: Infinity",
        '"1.5"': OTHER_TYPE,
    },
    "bytes": {'"!!"': OTHER_TYPE, "5": OTHER_TYPE},
    "date": {
        '"2026-02-30"': "date is no date: 2026-02-30",
        '"2026-03-01T10:00:00Z"': "date is no date: 2026-03-01T10:00:00Z",
        '"10:20:30"': "date is no date: 10:20:30",
        '"10000-01-01"': "date is no date: 10000-01-01",
        "2932897": "date is no date: 2932897",
        "1772323200000": "date is no date: 1772323200000",
        '"now"': "date is no date: now",
        "true": "date is no date: true",
        "1.5": "date is no date: 1.5",
    },
    "clock_ms": {
        "86400000": "clock_ms is no time-millis: 86400000",
        "-1": "clock_ms is no time-millis: -1",
        '"25:00"': "clock_ms is no time-millis: 25:00",
    },
    "clock_us": {'"2026-03-01T10:00"': "clock_us is no time-micros: 2026-03-01T10:00"},
    "ts_ms": {
        # A time of day alone would be one of the day on which it is read.
        '"10:20:30"': "ts_ms is no timestamp-millis: 10:20:30",
        '"T10:20:30"': "ts_ms is no timestamp-millis: T10:20:30",
        '"yesterday"': "ts_ms is no timestamp-millis: yesterday",
        '"2026-13-01"': "ts_ms is no timestamp-millis: 2026-13-01",
        '""': "ts_ms is no timestamp-millis: ",
        "253402300800000": "ts_ms is no timestamp-millis: 253402300800000",
        "-62135596800001": "ts_ms is no timestamp-millis: -62135596800001",
        "1772323200123456": "ts_ms is no timestamp-millis: 1772323200123456",
        "9" * 30: "ts_ms is no timestamp-millis: " + "9" * 30,
        '{"a":1}': 'ts_ms is no timestamp-millis: {"a":1}',
        '"' + "x" * 50 + '"': "ts_ms is no timestamp-millis: " + "x" * 40,
    },
    "ts_us": {
        "999999999999999999": "ts_us is no timestamp-micros: 999999999999999999",
        "9223372036854775807": "ts_us is no timestamp-micros: 9223372036854775807",
        '"+12345-01-01T00:00:00Z"': "ts_us is no timestamp-micros: +12345-01-01T00:00:00Z",
        '"0001-01-01T00:00:00+14:00"': "ts_us is no timestamp-micros: 0001-01-01T00:00:00+14:00",
    },
    "local_ms": {'"10:20:30"': "local_ms is no local-timestamp-millis: 10:20:30"},
    "local_us": {"999999999999999999": "local_us is no local-timestamp-micros: 999999999999999999"},
    "price": {
        "1.239": "price is no decimal: 1.2390000000000000000000000000000",
        "10000000": OTHER_TYPE,
        "1e400": OTHER_TYPE,
        "1e999999999": OTHER_TYPE,
        '"x"': OTHER_TYPE,
        "true": OTHER_TYPE,
    },
    "large": {"9" * 29: OTHER_TYPE},
    "digest": {'"aGkx"': "digest is no fixed: hi1", '"aA=="': "digest is no fixed: h"},
    "kind": {'"Start"': "kind is no enumeration: Start", "5": "kind is no enumeration: 5"},
    "point": {
        "{}": "point.x is missing",
        '{"x":null}': "point.x is missing",
        '{"x":1,"at":"x"}': "point.at is no timestamp-millis: x",
        '"x"': OTHER_TYPE,
        "[]": OTHER_TYPE,
    },
    "times": {
        '[0,"x"]': "times has an item that is no timestamp-millis",
        '"x"': OTHER_TYPE,
        "{}": OTHER_TYPE,
    },
    # Null in these would end the write of the whole batch.
    "words": {'["a",null]': "words has an item that is no string"},
    "points": {
        "[null]": "points has an item that is no record",
        '[{"x":1},{}]': "points has an item that is no record",
        '[{"x":1,"at":"x"}]': "points has an item that is no record",
    },
    "when": {'{"a":1,"b":"x"}': "when has an item that is no timestamp-micros", "[]": OTHER_TYPE},
    "counts": {'{"a":null}': "counts has an item that is no long", '{"a":"1"}': OTHER_TYPE},
}
WHOLE_VALUES: dict[bytes | None, str | None] = {
    None: "the record has no value",
    b"{}": None,
    b" \t\r\n{}\n": None,
    b'{"int":1,"int":2}': None,
    b"": NO_OBJECT,
    b"   ": NO_OBJECT,
    b"null": NO_OBJECT,
    b"7": NO_OBJECT,
    b'"text"': NO_OBJECT,
    b'[{"int":1}]': NO_OBJECT,
    b'{"int":': NO_OBJECT,
    b'{"int":1': NO_OBJECT,
    b'{"int":1,}': NO_OBJECT,
    b'{"int":01}': NO_OBJECT,
    b'{"int":NaN}': NO_OBJECT,
    b"{'int':1}": NO_OBJECT,
    b"{int:1}": NO_OBJECT,
    b'{"int":1} // one': NO_OBJECT,
    # Whatever follows the object, Spark alone would overlook.
    b'{"int":1}{"int":2}': NO_OBJECT,
    b'{"int":1}\n{"int":2}': NO_OBJECT,
    b'{"int":1},{"int":2}': NO_OBJECT,
    b'{"int":1} x}': NO_OBJECT,
    b'{"int":1}}': NO_OBJECT,
    b'{"int":1}]}': NO_OBJECT,
    b'{"int":1}]': NO_OBJECT,
    b'{"int":1}\x00': NO_OBJECT,
    b'{"int":1},"long":{}': NO_OBJECT,
    b'\xef\xbb\xbf{"int":1}': NO_OBJECT,
    b'{"text":"\xff"}': "the value is not UTF-8",
    b'{"text":"\xed\xa0\x80"}': "the value is not UTF-8",
    b"\x00\x01\x02": NO_OBJECT,
    b'{"more":' + b"[" * 900 + b"]" * 900 + b"}": None,
    b'{"more":' + b"[" * 1000 + b"]" * 1000 + b"}": NO_OBJECT,
    b'{"more":' + b"[" * 100_000 + b"}": NO_OBJECT,
    b'{"text":"' + b"x" * 10_000_000 + b'"}': None,
    b'{"int":' + b"1" * 1100 + b"}": NO_OBJECT,
}


def decoded(spark: SparkSession, schema: Record, values: Sequence[bytes | None]) -> list[Row]:
    """Return the columns as Spark writes them down, and the error, in the order of the values."""
    whole = decode(kafka_rows(spark, values), schema, "json", None)
    shown = [whole[field.name].cast("string").alias(field.name) for field in schema.fields]
    return whole.select(*shown, ERROR).collect()


def record_of(field: str, text: str) -> bytes:
    return f'{{"{field}":{text}}}'.encode()


def test_good_values_of_every_type(spark: SparkSession) -> None:
    cases = [(field, text) for field, values in GOOD.items() for text in values]
    assert {field for field, _ in cases} == set(TYPES)
    rows = decoded(spark, SCHEMA, [record_of(*case) for case in cases])
    found = {case: (row[case[0]], row[ERROR]) for case, row in zip(cases, rows, strict=True)}
    assert found == {(field, text): (GOOD[field][text], None) for field, text in cases}


def test_bad_values_of_every_type_are_named_and_end_nothing(spark: SparkSession) -> None:
    cases = [(field, text) for field, values in BAD.items() for text in values]
    # Any text, number or object is a string; nobody can tell more.
    assert set(TYPES) - {field for field, _ in cases} == {"text", "uuid"}
    rows = decoded(spark, SCHEMA, [record_of(*case) for case in cases])
    found = {case: row[ERROR] for case, row in zip(cases, rows, strict=True)}
    assert found == {(field, text): BAD[field][text] for field, text in cases}


def test_values_that_are_no_object_or_more_than_one(spark: SparkSession) -> None:
    rows = decoded(spark, SCHEMA, list(WHOLE_VALUES))
    found = [row[ERROR] for row in rows]
    assert found == list(WHOLE_VALUES.values())


def test_of_a_name_that_is_there_twice_the_last_counts(spark: SparkSession) -> None:
    assert decoded(spark, SCHEMA, [b'{"int":1,"int":2}'])[0]["int"] == "2"


REQUIRED = Record(
    "tv.Required",
    (
        Field("id", Primitive.LONG, nullable=False),
        Field("name", Primitive.STRING, nullable=False, default='"none"'),
        Field("raw", Primitive.BYTES, nullable=False, default=json.dumps("\u00ffA")),
        Field("fee", Decimal(6, 2), nullable=False, default=json.dumps("\u0004\u00d2")),
        Field("at", Primitive.TIMESTAMP_MILLIS, nullable=False, default="1000"),
        Field("tags", Array(Primitive.BYTES, item_nullable=False), nullable=False, default='["A"]'),
        Field("point", POINT, nullable=False, default='{"x": 7, "at": null}'),
        Field("note", Primitive.STRING, nullable=True, default="null"),
    ),
)


def test_defaults_stand_in_for_what_is_missing(spark: SparkSession) -> None:
    whole = decode(kafka_rows(spark, [b'{"id":1}']), REQUIRED, "json", None)
    row = whole.select(
        "name", "raw", "fee", whole["at"].cast("string"), "tags", "point", "note", ERROR
    ).collect()[0]
    assert row[ERROR] is None
    assert (row["name"], bytes(row["raw"]), str(row["fee"])) == ("none", b"\xffA", "12.34")
    assert row["at"] == "1970-01-01 00:00:01"
    assert [bytes(one) for one in row["tags"]] == [b"A"]
    assert (row["point"]["x"], row["point"]["at"], row["point"]["unit"]) == (7, None, "m")
    assert row["note"] is None


def test_a_default_does_not_stand_in_for_what_is_wrong(spark: SparkSession) -> None:
    rows = decoded(spark, REQUIRED, [b'{"id":1,"at":"x"}', b'{"name":"n"}', b'{"id":1,"fee":"x"}'])
    assert [row[ERROR] for row in rows] == [
        "at is no timestamp-millis: x",
        "id is missing",
        OTHER_TYPE,
    ]


@pytest.mark.parametrize(
    ("headers", "region"),
    [
        (None, "us"),
        ([("region", b"eu")], "eu"),
        ([("x", b"1"), ("region", b"eu"), ("region", b"ap")], "eu"),
        ([("region", None)], "us"),
    ],
)
def test_the_metadata_of_a_record(
    spark: SparkSession, headers: list[tuple[str, bytes | None]] | None, region: str
) -> None:
    rows = kafka_rows(spark, [b"{}", b"{}"], headers)
    whole = decode(rows, Record("tv.None", ()), "json", "us")
    shown = whole.select(whole["__metadata__"].cast("string")).collect()
    assert [row[0] for row in shown] == [
        f"{{2026-03-01 12:00:00.123456, t, 0, {offset}, {region}}}" for offset in range(2)
    ]


def test_raw_takes_any_bytes(spark: SparkSession) -> None:
    values = [b"\xff\x00", None, b""]
    rows = decode(kafka_rows(spark, values), None, "raw", None).select("value", ERROR).collect()
    assert [(None if r[0] is None else bytes(r[0]), r[1]) for r in rows] == [
        (value, None) for value in values
    ]
