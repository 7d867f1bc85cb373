"""A row of every type as a line of JSON."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa

from backfill.rows import as_json_line, rows_of

UTC = dt.UTC
COLUMNS: dict[str, tuple[pa.DataType, object, object]] = {
    "flag": (pa.bool_(), True, True),
    "int": (pa.int32(), -5, -5),
    "long": (pa.int64(), 2**63 - 1, 2**63 - 1),
    "double": (pa.float64(), 0.1, 0.1),
    "nan": (pa.float64(), float("nan"), "nan"),
    "infinite": (pa.float64(), float("-inf"), "-inf"),
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
    "list": (pa.list_(pa.binary()), [b"a", None], ["YQ==", None]),
    "map": (pa.map_(pa.string(), pa.date32()), [("k", dt.date(2026, 3, 1))], {"k": "2026-03-01"}),
    "struct": (
        pa.struct([("a", pa.timestamp("us", tz="UTC"))]),
        {"a": dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)},
        {"a": "1969-12-31T23:59:59.999999Z"},
    ),
    "none": (pa.string(), None, None),
}


def test_every_type() -> None:
    schema = pa.schema([(name, kind) for name, (kind, _, _) in COLUMNS.items()])
    row = {name: value for name, (_, value, _) in COLUMNS.items()}
    (read,) = rows_of(pa.RecordBatch.from_pylist([row], schema))
    line = as_json_line(read, 7, "lake.db.t")
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    expected = {name: shown for name, (_, _, shown) in COLUMNS.items()}
    assert json.loads(line) == expected | {"__step__": 7, "__source__": "lake.db.t"}


def test_of_a_key_that_is_there_twice_the_last_counts() -> None:
    """Spark's JSON reader keeps both, and a replay must not end at one such row."""
    column = pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))
    assert rows_of(pa.RecordBatch.from_arrays([column], ["m"])) == [{"m": {"k": 2}}]


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
    (row,) = rows_of(pa.RecordBatch.from_pydict(columns))
    text = "+33658-09-27T01:46:39.999999Z"
    assert json.loads(as_json_line(row, 0, "s")) == {
        "at": text,
        "local": text[:-1],
        "ms": "+33658-09-27T01:46:39.999000Z",
        "date": "+29349-01-26",
        "list": [text, None],
        "map": {"k": text},
        "struct": {"a": text, "b": None},
        "none": None,
        "int": 1,
        "__step__": 0,
        "__source__": "s",
    }
