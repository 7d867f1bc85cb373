from __future__ import annotations

import contextlib
import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.records.json.reader import JsonReader
from headrace.records.json.writer import JsonWriter
from headrace.records.rows import BadRecord, row_class
from headrace.schema.avro import parse_avro

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.schema.model import Record

TS = {"type": "long", "logicalType": "timestamp-millis"}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}


def reader(
    *fields: object, coerced: Collection[str] = (), refuses_unknown: bool = False
) -> JsonReader:
    return JsonReader(schema(*fields), coerced, refuses_unknown=refuses_unknown)


def schema(*fields: object) -> Record:
    """Return a schema of fields; one that is a type alone is the field x."""
    named = [one if _is_field(one) else {"name": "x", "type": one} for one in fields]
    return parse_avro({"type": "record", "name": "Event", "fields": named})


def _is_field(one: object) -> bool:
    return isinstance(one, dict) and "name" in one and one["type"] not in ("fixed", "enum")


def value_of(kind: object, text: str) -> object:
    return reader(kind)(f'{{"x":{text}}}'.encode()).f0


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("boolean", "true", True),
        ("int", "-2147483648", -(2**31)),
        ("long", "9223372036854775807", 2**63 - 1),
        ("float", "0.1", 0.10000000149011612),
        ("double", "1e308", 1e308),
        ("double", '"-Infinity"', float("-inf")),
        ("string", '"é\\u0000"', "é\0"),
        ("bytes", '"aGk="', b"hi"),
        ({"type": "fixed", "name": "F", "size": 2}, '"aGk="', b"hi"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, '"B"', "B"),
        ({"type": "int", "logicalType": "date"}, '"1970-01-03"', 2),
        ({"type": "int", "logicalType": "date"}, "2", 2),
        (TS, "1500", 1_500_000),
        (TS, '"1970-01-01T00:00:01.5Z"', 1_500_000),
        ({"type": "long", "logicalType": "timestamp-micros"}, "1500", 1_500),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            '"1970-01-01T00:00:01+05:00"',
            1_000_000,
        ),
        ({"type": "int", "logicalType": "time-millis"}, '"00:00:01.5"', 1_500),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            "1.5",
            Decimal("1.50"),
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            '"-123.45"',
            Decimal("-123.45"),
        ),
        (DECIMAL, "-0.0", Decimal("0.00")),
        (DECIMAL, "150e-2", Decimal("1.50")),
        ({"type": "array", "items": DECIMAL}, '[1, "2.5"]', [Decimal("1.00"), Decimal("2.50")]),
        ({"type": "array", "items": TS}, "[1, 2]", [1000, 2000]),
        ({"type": "map", "values": ["null", "long"]}, '{"a": 1, "b": null}', {"a": 1, "b": None}),
        (["null", "string"], "null", None),
    ],
)
def test_a_value_of_its_type(kind: object, text: str, value: object) -> None:
    found = value_of(kind, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("int", "2147483648", "x: expected int <= 2147483647"),
        ("int", "1.0", "x: expected int, got float"),
        ("int", '"1"', "x: expected int, got str"),
        ("long", "9223372036854775808", "x: expected int <= 9223372036854775807"),
        ("boolean", "1", "x: expected bool, got int"),
        ("string", "1", "x: expected str, got int"),
        ("string", "null", "x: expected str, got null"),
        ("float", "1e39", "x: no float: 1e+39"),
        ("double", '"nan"', "x: no number: nan"),
        ("bytes", '"?"', "x: invalid base64 encoded string"),
        ({"type": "fixed", "name": "F", "size": 3}, '"aGk="', "x: 2 bytes instead of 3"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, '"C"', "x: invalid enum value 'C'"),
        (TS, '"soon"', "x: no timestamp: soon"),
        (TS, "300000000000000", "x: beyond the years 0001 to 9999: 300000000000000"),
        (TS, "true", "x: expected int | str, got bool"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1},
            "1.23",
            "x: no decimal(3, 1): 1.23",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1},
            "1234",
            "x: no decimal(3, 1): 1234",
        ),
        (DECIMAL, '"NaN"', "x: no number: NaN"),
        (DECIMAL, '"sNaN"', "x: no number: sNaN"),
        (DECIMAL, '"-Infinity"', "x: no number: -Infinity"),
        (DECIMAL, '"1_0"', "x: no number: 1_0"),
        (DECIMAL, '"\\u0663"', "x: no number: \u0663"),
        (DECIMAL, "1e999999999", "x: no decimal(5, 2): 1e999999999"),
        (DECIMAL, "1e99999999999999999999", "x: no decimal(5, 2): 1e99999999999999999999"),
        (DECIMAL, "true", "x: expected decimal, got bool"),
        (DECIMAL, "null", "x: expected decimal, got null"),
        (DECIMAL, "[]", "x: expected decimal, got array"),
        ({"type": "array", "items": DECIMAL}, '[1, "-"]', "x[1]: no number: -"),
        ({"type": "array", "items": "int"}, "[1, null]", "x[1]: expected int, got null"),
    ],
)
def test_a_value_of_another_type_is_named(kind: object, text: str, reason: str) -> None:
    with pytest.raises(BadRecord) as told:
        value_of(kind, text)
    assert told.value.reason == reason
    assert told.value.kind == "decode"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the record has no value"),
        (b"", "not a JSON object: Input data was truncated"),
        (b"[]", "not a JSON object: expected object, got array"),
        (b"null", "not a JSON object: expected object, got null"),
        (b'{"x":1}{"x":2}', "not a JSON object: trailing characters (byte 8)"),
        (b'{"x":1', "not a JSON object: Input data was truncated"),
        (b"{'x':1}", "not a JSON object: object keys must be strings (byte 1)"),
        (b"\xef\xbb\xbf{}", "not a JSON object: invalid character (byte 0)"),
        (b'{"x":1,"y":"\xff"}', "the value is not UTF-8"),
        (b'{"x":1,"y":' + b"[" * 1000 + b"]" * 1000 + b"}", "nested too many levels deep"),
        (b'{"x":1,"y":' + b'{"a":' * 9000 + b"1" + b"}" * 9001, "nested too many levels deep"),
        (b"{}", "x is missing"),
    ],
)
def test_what_is_no_record(value: bytes | None, reason: str) -> None:
    with pytest.raises(BadRecord) as told:
        reader("int")(value)
    assert told.value.reason == reason


def test_brackets_in_a_text_are_no_levels() -> None:
    text = json.dumps({"x": 1, "y": "[" * 2000 + '\\"' * 3})
    assert reader("int")(text.encode()).f0 == 1


def test_a_mistake_inside_is_named_by_its_path() -> None:
    inner = {
        "type": "record",
        "name": "Inner",
        "fields": [{"name": "at", "type": TS}, {"name": "n", "type": "int"}],
    }
    nested = reader({"name": "a", "type": inner})
    with pytest.raises(BadRecord, match=r"^a\.n: expected int, got str$"):
        nested(b'{"a":{"at":1,"n":"2"}}')
    with pytest.raises(BadRecord, match=r"^a\.n is missing$"):
        nested(b'{"a":{"at":1}}')
    with pytest.raises(BadRecord, match=r"^a: at: no timestamp: soon$"):
        nested(b'{"a":{"at":"soon","n":2}}')


def test_a_default_is_filled_in_anew_each_time() -> None:
    fields = (
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["a"]},
        {"name": "at", "type": TS, "default": 1500},
        {"name": "n", "type": ["null", "int"], "default": None},
    )
    read = reader(*fields)
    first, second = read(b"{}"), read(b'{"tags":null}')
    assert (
        (first.f0, first.f1, first.f2)
        == (["a"], 1_500_000, None)
        == (second.f0, second.f1, second.f2)
    )
    assert first.f0 is not second.f0


def test_a_default_is_for_a_field_that_is_missing_not_for_null() -> None:
    inner = {
        "type": "record",
        "name": "I",
        "fields": [{"name": "at", "type": [TS, "null"], "default": 2}],
    }
    read = reader(
        {"name": "s", "type": ["string", "null"], "default": "x"},
        {"name": "at", "type": [TS, "null"], "default": 1500},
        {"name": "i", "type": inner, "default": {}},
    )
    missing = read(b"{}")
    assert (missing.f0, missing.f1, missing.f2.f0) == ("x", 1_500_000, 2_000)
    null = read(b'{"s":null,"at":null,"i":{"at":null}}')
    assert (null.f0, null.f1, null.f2.f0) == (None, None, None)
    assert read(b'{"i":{}}').f2.f0 == 2_000


def test_a_field_under_its_new_name_counts_even_if_it_is_null() -> None:
    read = reader(
        {"name": "new", "type": ["null", "int"], "default": None, "aliases": ["old", "older"]},
        {"name": "with", "type": ["int", "null"], "default": 7, "aliases": ["before"]},
        {"name": "own", "type": "int", "default": 8, "aliases": ["once"]},
    )
    for text, expected in (
        (b'{"new":null,"old":5}', (None, 7, 8)),
        (b'{"old":null,"older":5}', (None, 7, 8)),
        (b'{"older":5,"before":null,"once":1}', (5, None, 1)),
        (b'{"with":null,"before":5,"own":null,"once":1}', (None, None, 8)),
    ):
        row = read(text)
        assert (row.f0, row.f1, row.f2) == expected


def test_any_name_may_be_a_fields() -> None:
    read = reader({"name": "class", "type": "int"}, {"name": "f0", "type": "int"})
    row = read(b'{"class":1,"f0":2}')
    assert (row.f0, row.f1) == (1, 2)


def test_a_reason_is_short_whatever_it_cites() -> None:
    with pytest.raises(BadRecord) as told:
        reader("int", refuses_unknown=True)(b'{"' + b"y" * 100_000 + b'":1}')
    assert told.value.kind == "unknown_fields"
    assert len(told.value.reason) == 500


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0.1", b"0.1"),
        ("16777216", b"16777216.0"),
        ("1e-45", b"1.4013e-45"),
        ("3.4028235e38", b"3.4028235e38"),
    ],
)
def test_a_float_is_written_with_as_few_digits_as_tell_it(text: str, written: bytes) -> None:
    row = reader("float")(b'{"x":%s}' % text.encode())
    assert JsonWriter(schema("float"))(row) == b'{"x":%s}' % written


@given(st.floats(width=32))
def test_a_float_is_read_as_it_was_written(value: float) -> None:
    text = JsonWriter(schema("float"))(row_class(schema("float"))(value))
    # As others read it: Python's own JSON and Arrow's floats of 32 bits.
    others = pa.scalar(float(json.loads(text)["x"]), pa.float32()).as_py()
    found = reader("float")(text).f0
    for one in (others, found):
        assert one == value or (math.isnan(one) and math.isnan(value))


def test_fields_that_the_schema_does_not_have() -> None:
    text = b'{"x":1,"y":2}'
    assert reader("int")(text).f0 == 1
    with pytest.raises(BadRecord, match=r"^y is not a field of the schema$") as told:
        reader("int", refuses_unknown=True)(text)
    assert told.value.kind == "unknown_fields"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("long", '" 5 "', 5),
        ("long", "5.0", 5),
        ("int", '"5"', 5),
        ("double", '"1.5"', 1.5),
        ("boolean", '"True"', True),
        ("boolean", "0", False),
        ("double", '"-1.5e3"', -1500.0),
        ("double", "9007199254740993", 9007199254740992.0),
        ("double", '"-INF"', float("-inf")),
        ("float", '"0.1"', 0.10000000149011612),
        ("long", "9007199254740993", 9007199254740993),
        ("long", "9007199254740993.0", 9007199254740993),
        ("long", "9.223372036854775807e18", 2**63 - 1),
        ("long", '"-9223372036854775808"', -(2**63)),
        ("int", '"5.0"', 5),
        ("boolean", '"1"', True),
        ("string", "5", "5"),
        ("string", "true", "true"),
        ("string", "1.10", "1.10"),
        ("string", "9007199254740993.0", "9007199254740993.0"),
        ("string", "1e400", "1e400"),
        (DECIMAL, '" 1.5 "', Decimal("1.50")),
    ],
)
def test_another_form_is_converted_where_asked(kind: object, text: str, value: object) -> None:
    found = reader(kind, coerced=["x"])(f'{{"x":{text}}}'.encode()).f0
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("long", "5.5"),
        ("int", "3000000000"),
        ("long", '"five"'),
        ("boolean", "2"),
        ("boolean", '"yes"'),
        ("boolean", "1.0"),
        ("boolean", "null"),
        ("boolean", "[]"),
        ("int", '"1_000"'),
        ("int", '"\\u0663"'),
        ("int", "true"),
        ("int", "null"),
        ("long", "9223372036854775808"),
        ("long", "1e400"),
        ("long", "1e99999999999999999999"),
        ("long", "5.0000000000000000000001"),
        ("long", "1e-400"),
        ("long", '"NaN"'),
        ("double", '"1e400"'),
        ("double", "1e400"),
        ("double", '"nan"'),
        ("double", '"infinity"'),
        ("double", '"1_000"'),
        ("double", "{}"),
        ("float", '"1e39"'),
        ("string", "[1]"),
        ("string", "null"),
        (DECIMAL, '"1_0"'),
    ],
)
def test_where_something_would_be_lost_nothing_is_converted(kind: object, text: str) -> None:
    with pytest.raises(BadRecord, match=r"^x: "):
        reader(kind, coerced=["x"])(f'{{"x":{text}}}'.encode())


def test_a_column_within_a_record_is_converted() -> None:
    inner = {
        "type": "record",
        "name": "I",
        "fields": [{"name": "n", "type": "int", "default": 7}, {"name": "m", "type": "int"}],
    }
    read = reader({"name": "a", "type": inner}, coerced=["a.m"])
    row = read(b'{"a":{"m":"3"}}').f0
    assert (row.f0, row.f1) == (7, 3)
    with pytest.raises(BadRecord):
        read(b'{"a":{"n":"3","m":"3"}}')


EVERYTHING = schema(
    {"name": "b", "type": "boolean"},
    {"name": "n", "type": ["null", "long"]},
    {"name": "d", "type": "double"},
    {"name": "s", "type": "string"},
    {"name": "y", "type": "bytes"},
    {"name": "t", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "l", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
    {"name": "a", "type": {"type": "int", "logicalType": "date"}},
    {"name": "m", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3}},
    {
        "name": "r",
        "type": {
            "type": "array",
            "items": {"type": "record", "name": "R", "fields": [{"name": "at", "type": TS}]},
        },
    },
    {"name": "k", "type": {"type": "map", "values": "double"}},
)
micros = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
events = st.fixed_dictionaries(
    {
        "b": st.booleans(),
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "d": st.floats(allow_nan=False, allow_infinity=False),
        "s": st.text(),
        "y": st.just("aGk="),
        "t": micros,
        "l": micros,
        "a": st.integers(-719_162, 2_932_896),
        "m": st.decimals(-(10**16), 10**16, places=3).map(str),
        "r": st.lists(st.fixed_dictionaries({"at": st.integers(0, 10**12)})),
        "k": st.dictionaries(st.text(), st.sampled_from([1.5, "NaN", "Infinity", "-Infinity"])),
    }
)


@given(events)
def test_what_is_written_is_read_as_the_same(event: dict[str, object]) -> None:
    read, write = JsonReader(EVERYTHING), JsonWriter(EVERYTHING)
    text = write(read(json.dumps(event).encode()))
    assert json.loads(text).keys() == event.keys()
    again = write(read(text))
    assert again == text
    assert json.loads(text)["s"] == event["s"]
    assert json.loads(text)["n"] == event["n"]


@given(
    st.binary() | st.text().map(str.encode) | events.map(lambda one: json.dumps(one).encode()[:-3])
)
def test_any_bytes_are_a_record_or_a_bad_one(value: bytes) -> None:
    with contextlib.suppress(BadRecord):
        JsonReader(EVERYTHING)(value)


RENAMED = {
    "type": "record",
    "name": "tv.Renamed",
    "fields": [
        {"name": "key", "type": "long", "aliases": ["id", "number"]},
        {"name": "id2", "type": ["null", "string"], "default": None, "aliases": ["key"]},
        {
            "name": "many",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "One",
                    "fields": [
                        {
                            "name": "at",
                            "type": {"type": "long", "logicalType": "timestamp-millis"},
                            "aliases": ["time"],
                        }
                    ],
                },
            },
            "default": [],
        },
    ],
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"key":1}', (1, None, [])),
        (b'{"id":1}', (1, None, [])),
        (b'{"number":1,"id2":"x"}', (1, "x", [])),
        # The new name goes first, and a name that a field has is nobody's old one.
        (b'{"id":2,"key":1}', (1, None, [])),
        (b'{"key":1,"many":[{"time":1},{"at":2}]}', (1, None, [1_000, 2_000])),
    ],
)
def test_values_under_an_old_name(value: bytes, expected: tuple[object, ...]) -> None:
    for refuses_unknown in (False, True):
        read = JsonReader(parse_avro(RENAMED), refuses_unknown=refuses_unknown)
        row = read(value)
        assert (row.f0, row.f1, [one.f0 for one in row.f2]) == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"id2":"x"}', "key is missing"),
        (b'{"key":null}', "key: expected int, got null"),
        (b'{"key":null,"id":1}', "key: expected int, got null"),
        (b'{"id":null}', "id: expected int, got null"),
        (b'{"id":"x"}', "id: expected int, got str"),
        (b'{"id":1,"many":[{}]}', "many: at is missing"),
    ],
)
def test_what_is_missing_under_each_of_its_names(value: bytes, reason: str) -> None:
    with pytest.raises(BadRecord) as refused:
        JsonReader(parse_avro(RENAMED))(value)
    assert refused.value.reason == reason
