"""A record written with one schema and read as another, by Avro's rules."""

from __future__ import annotations

import io
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from headrace.records.rows import BadRecord
from headrace.schema.avro import parse_avro
from tests.unit.records.avro_values import read_with, written

if TYPE_CHECKING:
    from tests.registry_server import RegistryServer


def record(*fields: dict[str, Any], name: str = "tv.E", **more: object) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: object, **more: object) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def of(kind: object, **more: object) -> dict[str, Any]:
    return record(field("x", kind, **more))


def logical(kind: str, name: str, **more: object) -> dict[str, object]:
    return {"type": kind, "logicalType": name, **more}


def enum(*symbols: str, name: str = "tv.K", **more: object) -> dict[str, object]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(size: int, name: str = "tv.F", **more: object) -> dict[str, object]:
    return {"type": "fixed", "name": name, "size": size, **more}


def decimal_(precision: int, scale: int) -> dict[str, object]:
    return logical("bytes", "decimal", precision=precision, scale=scale)


def many(kind: str, item: object) -> dict[str, object]:
    return {"type": kind, "items" if kind == "array" else "values": item}


@pytest.mark.parametrize(
    ("writer", "value", "reader", "expected"),
    [
        ("int", -7, "long", -7),
        ("int", 7, "float", 7.0),
        ("int", 7, "double", 7.0),
        ("long", 2**53, "double", 2.0**53),
        ("long", 2**24 + 1, "float", 2.0**24),
        ("float", 0.5, "double", 0.5),
        ("string", "ä", "bytes", "ä".encode()),
        ("bytes", "ä".encode(), "string", "ä"),
        ("long", 7, ["null", "long"], 7),
        ("null", None, ["null", "long"], None),
        (["null", "long"], 7, "long", 7),
        (["null", "int"], 7, ["double", "null"], 7.0),
        (["long", "null"], None, ["null", "long"], None),
        (["null", "string", "int", "long"], 7, ["null", "long"], 7),
        (["int"], 7, "int", 7),
        (enum("a", "b"), "b", enum("b", "c"), "b"),
        (enum("a", "b"), "a", enum("b", "c", default="c"), "c"),
        (enum("a", name="old.Kind"), "a", enum("a", aliases=["old.Kind"]), "a"),
        (enum("a", name="other.K"), "a", enum("a"), "a"),
        (fixed(2), b"ab", fixed(2), b"ab"),
        (fixed(2, "tv.G"), b"ab", fixed(2, aliases=["G"]), b"ab"),
        (many("array", "int"), [1, 2], many("array", ["null", "long"]), [1, 2]),
        (many("map", ["null", "int"]), {"a": None}, many("map", ["null", "long"]), {"a": None}),
    ],
)
def test_what_is_read_as_what(
    registry_server: RegistryServer, writer: object, value: object, reader: object, expected: object
) -> None:
    payload = written(of(writer), {"x": value})
    row = read_with(registry_server, of(writer), parse_avro(of(reader)), payload)
    assert row.f0 == expected
    assert type(row.f0) is type(expected)


@pytest.mark.parametrize(
    ("writer", "value", "reader"),
    [
        ("int", 7, "double"),
        ("string", "a", "bytes"),
        (["null", "int"], 7, ["double", "null"]),
        (["null", "string", "int"], 7, ["null", "long"]),
        (enum("a", "b"), "a", enum("b", "c", default="c")),
        (many("map", "int"), {"a": 1}, many("map", "long")),
    ],
)
def test_fastavro_reads_it_the_same(
    registry_server: RegistryServer, writer: object, value: object, reader: object
) -> None:
    payload = written(of(writer), {"x": value})
    theirs = fastavro.schemaless_reader(
        io.BytesIO(payload), fastavro.parse_schema(of(writer)), fastavro.parse_schema(of(reader))
    )
    row = read_with(registry_server, of(writer), parse_avro(of(reader)), payload)
    assert row.f0 == theirs["x"]  # type: ignore[call-overload, index]


_SECOND = 1_000_000


@pytest.mark.parametrize(
    ("writer", "number", "reader", "expected"),
    [
        # What both call a point in time is read in the writer's unit.
        (logical("long", "timestamp-millis"), 1000, "timestamp-micros", _SECOND),
        (logical("long", "timestamp-micros"), _SECOND + 1, "timestamp-millis", _SECOND + 1),
        (logical("long", "local-timestamp-millis"), 1000, "local-timestamp-micros", _SECOND),
        (logical("int", "time-millis"), 1000, "time-micros", _SECOND),
        # A plain number is in the stream's unit.
        ("long", 1000, "timestamp-millis", _SECOND),
        ("int", 1000, "timestamp-millis", _SECOND),
        ("long", 1000, "timestamp-micros", 1000),
        ("int", 7, "date", 7),
        # An annotation on a foreign type is none.
        (logical("int", "timestamp-millis"), 1000, "timestamp-micros", 1000),
    ],
)
def test_times(
    registry_server: RegistryServer,
    writer: Any,  # noqa: ANN401 - JSON
    number: int,
    reader: str,
    expected: int,
) -> None:
    plain = writer["type"] if isinstance(writer, dict) else writer
    underlying = "int" if reader in {"date", "time-millis"} else "long"
    stream = parse_avro(of(logical(underlying, reader)))
    row = read_with(registry_server, of(writer), stream, written(of(plain), {"x": number}))
    assert row.f0 == expected


@pytest.mark.parametrize(
    ("writer", "reader"),
    [(logical("long", "timestamp-millis"), "long"), (logical("int", "date"), "int")],
)
def test_a_time_may_be_read_as_the_number_it_is(
    registry_server: RegistryServer, writer: dict[str, Any], reader: str
) -> None:
    payload = written(of(writer["type"]), {"x": 1000})
    assert read_with(registry_server, of(writer), parse_avro(of(reader)), payload).f0 == 1000


def test_a_decimals_precision_may_change(registry_server: RegistryServer) -> None:
    stream = parse_avro(of(decimal_(4, 2)))
    for writer in (
        decimal_(9, 2),
        {**fixed(4), "logicalType": "decimal", "precision": 9, "scale": 2},
    ):
        payload = written(of(writer), {"x": Decimal("12.30")})
        found = read_with(registry_server, of(writer), stream, payload).f0
        assert str(found) == "12.30"
        too_wide = written(of(writer), {"x": Decimal("123.45")})
        with pytest.raises(BadRecord, match="x is no decimal of 4 digits"):
            read_with(registry_server, of(writer), stream, too_wide)


def fixed_decimal(size: int, precision: int, scale: int, name: str = "D") -> dict[str, Any]:
    decimal = {"logicalType": "decimal", "precision": precision, "scale": scale}
    return {**fixed(size, name), **decimal}


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (decimal_(9, 2), fixed_decimal(4, 9, 2)),
        (fixed_decimal(4, 9, 2), decimal_(9, 2)),
        (fixed_decimal(8, 9, 2, "Other"), fixed_decimal(4, 9, 2)),
        (fixed_decimal(4, 9, 2), fixed_decimal(8, 9, 2)),
        (["null", decimal_(9, 2)], ["null", fixed_decimal(4, 9, 2)]),
    ],
)
def test_a_decimal_is_read_however_it_is_stored(
    registry_server: RegistryServer, writer: object, reader: object
) -> None:
    """Bytes with their length before them, or a fixed of whichever size: the number is the same."""
    stream = parse_avro(record(field("x", reader), field("y", "long")))
    kinds = record(field("x", writer), field("y", "long"))
    for number in ("12.30", "-0.01", "0.00", "-1234567.89"):
        payload = written(kinds, {"x": Decimal(number), "y": 7})
        row = read_with(registry_server, kinds, stream, payload)
        assert (str(row.f0), row.f1) == (number, 7)


@pytest.mark.parametrize(
    ("writer", "reader", "reason"),
    [
        (of("long"), of("int"), "x is long, not int"),
        (of("double"), of("float"), "x is double, not float"),
        (of("boolean"), of("int"), "x is boolean, not int"),
        (of("null"), of("int"), "x is null"),
        (of(["string", "boolean"]), of("int"), "x is string, not int"),
        (of(many("array", "string")), of(many("array", "int")), "x[] is string, not int"),
        (of(many("map", "string")), of(many("map", "int")), "x{} is string, not int"),
        (of(many("map", "int")), of(many("array", "int")), "x is map, not array"),
        (of("int"), of(record(field("y", "int"), name="I")), "x is int, not record tv.I"),
        (of(enum("a")), of("string"), "x is enum tv.K, not string"),
        (of("string"), of(enum("a")), "x is string, not enum tv.K"),
        (of(enum("a", name="L")), of(enum("a")), "x is the enum tv.L, not tv.K"),
        (of(fixed(3)), of(fixed(2)), "x has 3 bytes, not 2"),
        (of(fixed(2, "G")), of(fixed(2)), "x is the fixed tv.G, not tv.F"),
        (of("string"), of(decimal_(5, 2)), "x is string, not decimal"),
        (of("bytes"), of(fixed_decimal(4, 9, 2)), "x is bytes, not decimal"),
        (of("string"), of(fixed_decimal(4, 9, 2)), "x is string, not decimal"),
        (of(fixed(4)), of(decimal_(5, 2)), "x is fixed, not decimal"),
        (of(fixed(4)), of("bytes"), "x is fixed, not bytes"),
        (of("bytes"), of(fixed(4)), "x is bytes, not fixed"),
        (of(decimal_(5, 2)), of(fixed(4)), "x is decimal, not fixed"),
        (of(fixed_decimal(4, 9, 2)), of("bytes"), "x is decimal, not bytes"),
        (of(fixed(4)), of(fixed_decimal(8, 9, 2)), "x has 4 bytes, not 8"),
        (of(decimal_(5, 2)), of("string"), "x is decimal, not string"),
        (of(decimal_(5, 1)), of(decimal_(5, 2)), "x has the scale 1, not 2"),
        (record(name="Other"), of("int", default=1), "it is record Other, not tv.E (an alias"),
        (
            of(record(field("y", "int"), name="I")),
            of(record(field("z", "int"), name="I")),
            "x.z is not in it, and has no default in the stream's schema",
        ),
        (
            of(record(field("y", "string"), name="I")),
            of(record(field("y", "int"), name="I")),
            "x.y is string, not int",
        ),
        (
            of(logical("long", "local-timestamp-millis")),
            of(logical("long", "timestamp-millis")),
            "x is a local timestamp, not a timestamp",
        ),
        (
            of(logical("long", "timestamp-nanos")),
            of(logical("long", "timestamp-micros")),
            "x is a timestamp in nanoseconds, not a timestamp",
        ),
    ],
)
def test_what_is_not_read_as_what(
    registry_server: RegistryServer, writer: object, reader: object, reason: str
) -> None:
    with pytest.raises(BadRecord) as bad:
        read_with(registry_server, writer, parse_avro(reader), b"\x00")
    assert bad.value.kind == "schema"
    assert reason in bad.value.reason


def test_one_type_of_a_union_may_be_none_of_the_streams(registry_server: RegistryServer) -> None:
    writer = of(["null", "string", "long"])
    stream = parse_avro(of("long"))
    assert read_with(registry_server, writer, stream, written(writer, {"x": 7})).f0 == 7
    for value, reason in ((None, "x is null"), ("a", "x is string, not long")):
        with pytest.raises(BadRecord) as bad:
            read_with(registry_server, writer, stream, written(writer, {"x": value}))
        assert (bad.value.reason, bad.value.kind) == (reason, "decode")


def test_a_symbol_that_the_stream_has_not(registry_server: RegistryServer) -> None:
    payload = written(of(enum("a", "b")), {"x": "a"})
    with pytest.raises(BadRecord, match="x has a symbol that the stream's schema does not have"):
        read_with(registry_server, of(enum("a", "b")), parse_avro(of(enum("b"))), payload)


def test_fields_are_found_by_name_then_by_alias(registry_server: RegistryServer) -> None:
    writer = record(field("old", "long"), field("b", "string"), field("a", "int"))
    stream = record(field("a", "int"), field("new", "long", aliases=["older", "old"]))
    payload = written(writer, {"old": 7, "b": "gone", "a": 3})
    row = read_with(registry_server, writer, parse_avro(stream), payload)
    assert (row.f0, row.f1) == (3, 7)


def test_a_name_counts_before_an_alias(registry_server: RegistryServer) -> None:
    writer = record(field("a", "long"), field("b", "long"))
    stream = parse_avro(record(field("a", "long", aliases=["b"])))
    assert read_with(registry_server, writer, stream, b"\x02\x04").f0 == 1


def test_a_record_known_by_an_alias(registry_server: RegistryServer) -> None:
    writer = {**of("long"), "name": "com.old.Event"}
    for alias in ("com.old.Event", "Event"):
        stream = parse_avro({**of("long"), "aliases": [alias]})
        assert read_with(registry_server, writer, stream, b"\x0e").f0 == 7


INNER = record(field("y", "int"), field("z", ["null", "int"], default=None), name="tv.Inner")


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        ("long", 7, 7),
        ("boolean", True, True),
        ("double", 1, 1.0),
        ("float", 0.1, 0.10000000149011612),
        ("string", "a", "a"),
        ("bytes", "\u00ff", b"\xff"),
        (fixed(2), "ab", b"ab"),
        (enum("a", "b"), "b", "b"),
        (decimal_(4, 2), "\u0004\u00d2", Decimal("12.34")),
        (logical("long", "timestamp-millis"), 1000, 1_000_000),
        (logical("long", "timestamp-micros"), 1000, 1000),
        (logical("int", "date"), 3, 3),
        (["null", "long"], None, None),
        (["long", "null"], 7, 7),
        (many("array", "long"), [1], [1]),
        (many("map", ["null", "long"]), {"a": None}, {"a": None}),
    ],
)
def test_a_field_that_was_not_written_is_its_default(
    registry_server: RegistryServer, kind: object, default: object, expected: object
) -> None:
    stream = record(field("id", "long"), field("x", kind, default=default))
    row = read_with(registry_server, record(field("id", "long")), parse_avro(stream), b"\x0e")
    assert (row.f0, row.f1) == (7, expected)
    assert type(row.f1) is type(expected)


def test_a_records_default(registry_server: RegistryServer) -> None:
    stream = record(field("id", "long"), field("x", INNER, default={"y": 3}))
    row = read_with(registry_server, record(field("id", "long")), parse_avro(stream), b"\x0e")
    assert (row.f1.f0, row.f1.f1) == (3, None)


def test_records_within_records(registry_server: RegistryServer) -> None:
    old = record(field("gone", "string"), field("y", "int"), name="com.Inner")
    writer = of(many("array", ["null", old]))
    stream = of(many("array", ["null", INNER]))
    payload = written(writer, {"x": [{"gone": "a", "y": 1}, None, {"gone": "", "y": 2}]})
    first, none, second = read_with(registry_server, writer, parse_avro(stream), payload).f0
    assert none is None
    assert (first.f0, first.f1, second.f0, second.f1) == (1, None, 2, None)


def test_numbers_that_are_none(registry_server: RegistryServer) -> None:
    payload = written(of("double"), {"x": math.nan})
    assert math.isnan(
        read_with(registry_server, of("double"), parse_avro(of("double")), payload).f0
    )
