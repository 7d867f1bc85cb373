from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.records.avro.writer import AvroWriter
from headrace.records.rows import BadRecord, row_class
from headrace.schema.avro import parse_avro


def of(kind: object) -> dict[str, Any]:
    fields = [{"name": "before", "type": "int"}, {"name": "x", "type": kind}]
    return {"type": "record", "name": "E", "fields": fields}


def write(kind: object, value: object) -> bytes:
    schema = parse_avro(of(kind))
    return AvroWriter(schema, 258)(row_class(schema)(1, value))


PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
WIDE = {**PRICE, "type": "fixed", "name": "W", "size": 3}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
LONGS = {"type": "array", "items": "long"}
INNER = {"type": "record", "name": "I", "fields": [{"name": "y", "type": "int"}]}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("long", -65, b"\x81\x01"),
        ("long", 2**63 - 1, b"\xfe" + b"\xff" * 8 + b"\x01"),
        ("long", -(2**63), b"\xff" * 9 + b"\x01"),
        ("string", "ä", b"\x04\xc3\xa4"),
        ("boolean", True, b"\x01"),
        (["null", "long"], None, b"\x00"),
        (["long", "null"], None, b"\x02"),
        (["long", "null"], 1, b"\x00\x02"),
        (PRICE, Decimal("-1.28"), b"\x02\x80"),
        (PRICE, Decimal("1.28"), b"\x04\x00\x80"),
        (PRICE, Decimal("0.00"), b"\x02\x00"),
        (WIDE, Decimal("-0.01"), b"\xff\xff\xff"),
        (MILLIS, 1999, b"\x02"),
        (MILLIS, -1, b"\x01"),
        (LONGS, [], b"\x00"),
        (LONGS, [1, 2], b"\x04\x02\x04\x00"),
        ({"type": "map", "values": "long"}, {"a": 1}, b"\x02\x02a\x02\x00"),
        ({"type": "enum", "name": "K", "symbols": ["a", "b"]}, "b", b"\x02"),
    ],
)
def test_the_bytes_are_avros(kind: object, value: object, expected: bytes) -> None:
    assert write(kind, value) == b"\x00\x00\x00\x01\x02" + b"\x02" + expected


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("long", None, "x is missing"),
        ("long", 2**63, "x is no number of 64 bits"),
        ("long", -(2**63) - 1, "x is no number of 64 bits"),
        ("int", 2**31, "x is no number of 32 bits"),
        ("long", 1.5, "x is no long"),
        ("long", "7", "x is no long"),
        ("string", b"a", "x is no string"),
        ("string", "\ud800", "x is no string"),
        ("bytes", "a", "x is no bytes"),
        ("float", 1e300, "x is no float"),
        ("boolean", "true", "x is no boolean"),
        (PRICE, Decimal("100.00"), "x is no decimal of 4 digits"),
        (PRICE, Decimal("1e99999"), "x is no decimal of 4 digits"),
        (PRICE, Decimal("0.001"), "x is no decimal with 2 digits after the point"),
        (PRICE, Decimal("NaN"), "x is no decimal(4, 2)"),
        (PRICE, Decimal("Infinity"), "x is no decimal(4, 2)"),
        (PRICE, 1, "x is no decimal(4, 2)"),
        ({"type": "fixed", "name": "F", "size": 2}, b"abc", "x is not 2 bytes"),
        ({"type": "enum", "name": "K", "symbols": ["a"]}, "b", "x is not a symbol of K"),
        (LONGS, [1, None], "x is no array"),
        (LONGS, None, "x is missing"),
        (INNER, None, "x is missing"),
    ],
)
def test_what_is_no_value_of_the_schema_is_told(kind: object, value: object, reason: str) -> None:
    with pytest.raises(BadRecord) as bad:
        write(kind, value)
    assert (bad.value.reason, bad.value.kind) == (reason, "schema")
