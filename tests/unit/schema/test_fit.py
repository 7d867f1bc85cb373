from __future__ import annotations

import pytest

from headrace.schema.fit import fits, missing, type_word
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

P = Primitive
ENUM = Enumeration("E", ("a", "b"))
FIXED = Fixed("F", 4)


def record(*fields: Field) -> Record:
    return Record("R", fields)


@pytest.mark.parametrize("kind", [*Primitive, ENUM, FIXED, Decimal(5, 2), Array(P.INT, True)])
def test_every_type_fits_itself(kind: Type) -> None:
    assert fits(kind, kind, as_json=False)
    assert fits(kind, kind, as_json=True)


@pytest.mark.parametrize(
    ("source", "target", "in_avro", "in_json"),
    [
        (P.INT, P.LONG, True, True),
        (P.LONG, P.INT, False, False),
        (P.FLOAT, P.DOUBLE, True, True),
        (P.DOUBLE, P.LONG, False, False),
        (P.LONG, Decimal(20, 0), True, True),
        (Decimal(5, 2), P.DOUBLE, False, True),
        (Decimal(5, 2), Decimal(6, 2), True, True),
        (Decimal(5, 2), Decimal(5, 1), False, False),
        (Decimal(5, 2), Decimal(5, 3), False, False),
        (ENUM, P.STRING, True, True),
        (P.STRING, ENUM, True, True),
        (P.STRING, P.TIMESTAMP_MICROS, False, True),
        (P.STRING, P.LONG, False, False),
        (P.STRING, P.BYTES, False, True),
        (FIXED, P.BYTES, True, True),
        (P.BOOLEAN, P.STRING, False, False),
        (P.TIMESTAMP_MILLIS, P.TIMESTAMP_MICROS, True, True),
        (P.TIMESTAMP_MILLIS, P.LOCAL_TIMESTAMP_MILLIS, False, False),
        (P.TIMESTAMP_MILLIS, P.LONG, False, False),
        (P.LONG, P.TIMESTAMP_MILLIS, False, True),
        (P.TIME_MILLIS, P.TIME_MICROS, False, False),
        (Array(P.INT, False), Array(P.LONG, True), True, True),
        (Array(P.INT, False), P.INT, False, False),
        (Map(P.STRING, False), Map(P.INT, False), False, False),
    ],
)
def test_what_fits_where(source: Type, target: Type, in_avro: bool, in_json: bool) -> None:
    assert fits(source, target, as_json=False) == in_avro
    assert fits(source, target, as_json=True) == in_json


def test_a_record_fits_where_nothing_is_missing_and_all_fields_fit() -> None:
    source = record(Field("a", P.INT, False), Field("more", P.INT, False))
    target = record(
        Field("a", P.LONG, False), Field("b", P.INT, True), Field("c", P.INT, False, default="1")
    )
    assert fits(source, target, as_json=True)
    assert missing([field.name for field in source.fields], target) == []
    needy = record(*target.fields, Field("d", P.INT, False))
    assert missing([field.name for field in source.fields], needy) == ["d"]
    assert not fits(source, needy, as_json=True)
    assert not fits(source, record(Field("a", P.STRING, False)), as_json=True)


def test_types_have_words() -> None:
    kinds: list[Type] = [P.TIME_MILLIS, Decimal(5, 2), ENUM, FIXED, Map(P.INT, False), record()]
    assert [type_word(kind) for kind in kinds] == [
        "time-millis",
        "decimal(5, 2)",
        "enum",
        "fixed",
        "map",
        "record",
    ]
