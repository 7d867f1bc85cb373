"""A row of every type as a line of JSON."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.tables.json_columns import (
    as_json,
    json_objects,
    text_bytes,
    values_of,
    with_line_ends,
)
from headrace.records.json.reader import JsonReader
from headrace.schema.avro import parse_avro

UTC = dt.UTC
COLUMNS: dict[str, tuple[pa.DataType, object, object]] = {
    "flag": (pa.bool_(), True, True),
    "int": (pa.int32(), -5, -5),
    "long": (pa.int64(), 2**63 - 1, 2**63 - 1),
    "double": (pa.float64(), 0.1, 0.1),
    "nan": (pa.float64(), float("nan"), "NaN"),
    "infinite": (pa.float64(), float("-inf"), "-Infinity"),
    "single": (pa.float32(), 0.1, 0.1),
    "singles": (
        pa.list_(pa.map_(pa.string(), pa.struct([("a", pa.float32()), ("b", pa.float64())]))),
        [None, [("k", {"a": 0.1, "b": 0.1}), ("n", None)]],
        [None, {"k": {"a": 0.1, "b": 0.1}, "n": None}],
    ),
    "text": (pa.string(), 'é\n"\u2028', 'é\n"\u2028'),
    "bytes": (pa.binary(), b"\xff\x00", "/wA="),
    "fixed": (pa.binary(2), b"ab", "YWI="),
    "price": (pa.decimal128(38, 10), Decimal("1e-10"), "1E-10"),
    "date": (pa.date32(), dt.date(1, 2, 3), "0001-02-03"),
    "time": (pa.time64("us"), dt.time(1, 2, 3, 4), "01:02:03.000004"),
    "local": (
        pa.timestamp("us"),
        dt.datetime(2026, 3, 1, 1, 2, 3),  # noqa: DTZ001 - a local time has no zone
        "2026-03-01T01:02:03.000000",
    ),
    "at": (
        pa.timestamp("us", tz="UTC"),
        dt.datetime(33, 3, 1, 1, 2, 3, 4, tzinfo=UTC),
        "0033-03-01T01:02:03.000004Z",
    ),
    "elsewhere": (
        pa.timestamp("us", tz="Asia/Tokyo"),
        dt.datetime(2026, 3, 1, tzinfo=UTC),
        "2026-03-01T00:00:00.000000Z",
    ),
    "list": (pa.list_(pa.binary()), [b"a", None], ["YQ==", None]),
    "map": (pa.map_(pa.string(), pa.date32()), [("k", dt.date(2026, 3, 1))], {"k": "2026-03-01"}),
    "struct": (
        pa.struct([("a", pa.timestamp("us", tz="UTC")), ('"b\\', pa.string())]),
        {"a": dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), '"b\\': None},
        {"a": "1969-12-31T23:59:59.999999Z", '"b\\': None},
    ),
    "none": (pa.string(), None, None),
}


def lines_of(batch: pa.RecordBatch) -> list[str]:
    lines: list[str] = with_line_ends(json_objects(batch)).to_pylist()
    return lines


def test_every_type() -> None:
    schema = pa.schema([(name, kind) for name, (kind, _, _) in COLUMNS.items()])
    row = {name: value for name, (_, value, _) in COLUMNS.items()}
    batch = pa.RecordBatch.from_pylist([row, dict.fromkeys(row)], schema)
    extra = (("__step__", 7), ("__source__", "lake.db.t"))
    objects = json_objects(batch, extra)
    first, second, rest = bytes(text_bytes(with_line_ends(objects))).decode().split("\n")
    expected = {name: shown for name, (_, _, shown) in COLUMNS.items()}
    assert json.loads(first) == expected | dict(extra)
    assert json.loads(second) == dict.fromkeys(expected) | dict(extra)
    assert rest == ""


def test_the_bytes_of_a_part_are_those_of_its_rows() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, 3]})
    lines = with_line_ends(json_objects(batch))
    assert bytes(text_bytes(lines[1:])) == b'{"a":2}\n{"a":3}\n'
    assert bytes(text_bytes(lines[:0])) == b""


TIMES = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("number", pa.float64()),
        ("long", pa.int64()),
        ("flag", pa.bool_()),
        ("at", TIMES),
        ("day", pa.date32()),
        ("inside", pa.struct([("text", pa.string()), ("at", TIMES)])),
        ("list", pa.list_(pa.string())),
    ]
)
moments = st.integers(-(2**62), 2**62) | st.integers(0, 2**51)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
rows = st.fixed_dictionaries(
    {
        "text": st.none() | texts,
        "number": st.none() | st.floats(),
        "long": st.none() | st.integers(-(2**63), 2**63 - 1),
        "flag": st.none() | st.booleans(),
        "at": st.none() | moments,
        "day": st.none() | st.integers(-(10**6), 10**7),
        "inside": st.none()
        | st.fixed_dictionaries({"text": st.none() | texts, "at": st.none() | moments}),
        "list": st.none() | st.lists(st.none() | texts, max_size=2),
    }
)


@given(st.lists(rows, max_size=5))
@settings(max_examples=300, deadline=None)
def test_by_columns_it_is_what_it_is_value_by_value(made: list[dict[str, object]]) -> None:
    columns = [pa.array([row[field.name] for row in made], field.type) for field in SCHEMA]
    batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    wanted = [
        "{" + ",".join(f'"{name}":{as_json(values[number])}' for name, values in spelt) + "}\n"
        for spelt in [[(field.name, values_of(batch.column(field.name))) for field in SCHEMA]]
        for number in range(len(made))
    ]
    lines = lines_of(batch)
    assert [json.loads(line) for line in lines] == [json.loads(line) for line in wanted]
    assert all(line.count("\n") == 1 for line in lines)


def test_numbers_that_are_written_are_read_again() -> None:
    """What a replay sends as JSON is read by the live sources, which know these words alone."""
    values = [0.1, None, math.nan, math.inf, -math.inf, 1e-45]
    read = JsonReader(
        parse_avro(
            {
                "type": "record",
                "name": "E",
                "fields": [{"name": name, "type": ["null", name]} for name in ("double", "float")],
            }
        )
    )
    batch = pa.RecordBatch.from_pydict(
        {"double": pa.array(values, pa.float64()), "float": pa.array(values, pa.float32())}
    )
    found = [read(line.encode()) for line in lines_of(batch)]
    again = {"double": [row.f0 for row in found], "float": [row.f1 for row in found]}
    for name, column in again.items():
        assert repr(column) == repr(batch.column(name).to_pylist())


def test_of_a_key_that_is_there_twice_the_last_counts() -> None:
    """Spark's JSON reader keeps both, and a replay must not end at one such row."""
    column = pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))
    assert lines_of(pa.RecordBatch.from_arrays([column], ["m"])) == ['{"m":{"k":2}}\n']


def test_times_that_python_does_not_know() -> None:
    far = 999_999_999_999_999_999
    at, local = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
    columns = {
        "at": pa.array([far], at),
        "local": pa.array([far], local),
        "ms": pa.array([far // 1000], pa.timestamp("ms", tz="UTC")),
        "date": pa.array([10_000_000], pa.date32()),
        "list": pa.array([[far, None]], pa.list_(at)),
        "map": pa.array([[("k", far)]], pa.map_(pa.string(), at)),
        "struct": pa.array([{"a": far, "b": None}], pa.struct([("a", at), ("b", at)])),
        "none": pa.array([None], at),
        "int": pa.array([1]),
    }
    (line,) = lines_of(pa.RecordBatch.from_pydict(columns))
    text = "+33658-09-27T01:46:39.999999Z"
    assert json.loads(line) == {
        "at": text,
        "local": text[:-1],
        "ms": "+33658-09-27T01:46:39.999000Z",
        "date": "+29349-01-26",
        "list": [text, None],
        "map": {"k": text},
        "struct": {"a": text, "b": None},
        "none": None,
        "int": 1,
    }
