"""Schemas that were not made by us, or were changed since: what is there counts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    FixedType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from headrace.schema.annotations import ANNOTATION
from headrace.schema.arrow import to_arrow
from headrace.schema.avro import parse_avro, to_avro
from headrace.schema.iceberg import from_iceberg, to_iceberg
from headrace.schema.model import (
    Array,
    Decimal,
    Enumeration,
    Field,
    Fixed,
    Primitive,
    Record,
    Type,
)
from headrace.schema.rules import SchemaRefused
from headrace.schema.spark import from_spark, to_spark

KIND = Enumeration("tv.Kind", ("start", "stop"))
DEVICE = Record("tv.Device", (Field("id", Primitive.UUID, nullable=False),))
PLAYBACK = Record(
    "tv.playback",
    (
        Field("kind", KIND, nullable=False, default='"start"'),
        Field("device", DEVICE, nullable=False),
        Field("previous", Array(DEVICE, item_nullable=True, item_null_last=True), nullable=True),
        Field("at", Primitive.TIMESTAMP_MILLIS, nullable=False),
    ),
    doc="What was played.",
)


def types(record: Record) -> list[Type]:
    return [field.type for field in record.fields]


def spark(*columns: tuple[str, object]) -> dict[str, object]:
    fields = [
        {"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in columns
    ]
    return {"type": "struct", "fields": fields}


def columns_of(struct: dict[str, Any]) -> list[dict[str, Any]]:
    return list(struct["fields"])


def all_nullable(node: object) -> object:
    """Return Spark's schema as it comes back from a file source."""
    if isinstance(node, list):
        return [all_nullable(item) for item in node]
    if isinstance(node, dict):
        yes = dict.fromkeys({"nullable", "containsNull", "valueContainsNull"} & node.keys(), True)
        return {key: all_nullable(value) for key, value in node.items()} | yes
    return node


def test_types_are_known_again_where_nullability_was_lost() -> None:
    struct = all_nullable(to_spark(PLAYBACK))
    assert isinstance(struct, dict)
    record = from_spark(struct)
    assert record.name == "tv.playback"
    assert record.doc == "What was played."
    assert [field.nullable for field in record.fields] == [True] * 4
    assert record.fields[0].type == KIND
    # The default belongs to the first type of the union.
    assert (record.fields[0].default, record.fields[0].null_last) == ('"start"', True)
    device = replace(DEVICE, fields=(Field("id", Primitive.UUID, nullable=True),))
    assert record.fields[1].type == device
    assert record.fields[2].type == Array(device, item_nullable=True, item_null_last=True)
    assert parse_avro(to_avro(record)) == record


def test_a_widened_column_is_what_it_is() -> None:
    schema = Record("r", (Field("t", Primitive.TIME_MILLIS, nullable=True),))
    _, properties = to_iceberg(schema)
    kept = Schema(NestedField(1, "t", IntegerType()))
    widened = Schema(NestedField(1, "t", LongType()))
    assert types(from_iceberg(kept, properties)) == [Primitive.TIME_MILLIS]
    assert types(from_iceberg(widened, properties)) == [Primitive.LONG]


def test_a_default_stays_only_where_it_still_fits() -> None:
    def read(default: str, was: NestedField, now: NestedField) -> Field:
        field = Field("n", Primitive.INT, not was.required, default=default)
        _, properties = to_iceberg(Record("r", (field,)))
        return from_iceberg(Schema(now), properties).fields[0]

    required = NestedField(1, "n", IntegerType(), required=True)
    optional = NestedField(1, "n", IntegerType())
    text = NestedField(1, "n", StringType(), required=True)
    assert read("7", required, text) == Field("n", Primitive.STRING, nullable=False)
    assert read("null", optional, required) == Field("n", Primitive.INT, nullable=False)
    assert read("7", required, optional) == Field("n", Primitive.INT, True, None, "7", (), True)


def test_a_column_named_like_its_own_stream() -> None:
    record = from_spark(spark(("row", spark(("a", "integer")))))
    inner = Record("row_2", (Field("a", Primitive.INT, nullable=True),))
    assert record == Record("row", (Field("row", inner, nullable=True),))
    assert parse_avro(to_avro(record)) == record


def test_docs_are_told_to_those_who_do_not_read_annotations() -> None:
    record = Record("r", (Field("n", Primitive.INT, nullable=True, doc="How many."),))
    assert to_iceberg(record)[0].find_field("n").doc == "How many."
    assert from_iceberg(to_iceberg(record)[0], {}).fields[0].doc == "How many."
    assert '"comment": "How many."' in json.dumps(to_spark(record))


def test_the_items_of_a_list_are_called_what_parquet_calls_them() -> None:
    record = Record("r", (Field("n", Array(Primitive.INT, False), nullable=True),))
    assert to_arrow(record).field("n").type.value_field.name == "element"


def test_a_column_added_dropped_renamed_or_made_optional() -> None:
    schema, properties = to_iceberg(PLAYBACK)
    kind, device, previous, _ = schema.fields
    inner = device.field_type
    assert isinstance(inner, StructType)
    model = NestedField(90, "model", StringType())
    changed = Schema(
        NestedField(kind.field_id, "sort", StringType()),
        NestedField(2, "device", StructType(*inner.fields, model)),
        NestedField(3, "previous", previous.field_type),
        NestedField(91, "extra", UUIDType()),
    )
    record = from_iceberg(changed, properties)
    assert record == Record(
        "tv.playback",
        (
            Field("sort", Primitive.STRING, nullable=True),
            Field(
                "device",
                Record("tv.Device", (*DEVICE.fields, Field("model", Primitive.STRING, True))),
                nullable=True,
            ),
            Field(
                "previous",
                # The name stands for the device with a model by now.
                Array(replace(DEVICE, name="tv.Device_2"), True, item_null_last=True),
                nullable=True,
            ),
            Field("extra", Primitive.UUID, nullable=True),
        ),
        doc="What was played.",
    )
    assert parse_avro(to_avro(record)) == record


@pytest.mark.parametrize("text", ["", "{", '{"type": "string"}', '{"type":"record","name":"x"}'])
def test_a_damaged_annotation_says_nothing(text: str) -> None:
    column = {"name": "x", "type": "string", "nullable": True, "metadata": {ANNOTATION: text}}
    expected = Record("row", (Field("x", Primitive.STRING, nullable=True),))
    assert from_spark({"type": "struct", "fields": [column]}) == expected
    schema = Schema(NestedField(1, "x", StringType()))
    assert from_iceberg(schema, {"headrace.avro-schema": text}) == expected


def test_columns_of_two_streams_together() -> None:
    other = Record("tv.other", (Field("id", Primitive.UUID, nullable=False),))
    fields = [field for record in (PLAYBACK, other) for field in columns_of(to_spark(record))]
    record = from_spark({"type": "struct", "fields": fields})
    assert (record.name, record.doc) == ("row", None)
    assert types(record) == [*types(PLAYBACK), Primitive.UUID]


def test_a_renamed_column_keeps_its_type() -> None:
    field = {**columns_of(to_spark(PLAYBACK))[0], "name": "sort"}
    assert types(from_spark({"type": "struct", "fields": [field]})) == [KIND]


@pytest.mark.parametrize(
    ("type_", "means"),
    [
        (TimeType(), Primitive.TIME_MICROS),
        (UUIDType(), Primitive.UUID),
        (FixedType(3), Fixed("fixed_3", 3)),
        (TimestamptzType(), Primitive.TIMESTAMP_MICROS),
        (ListType(2, StringType(), element_required=True), Array(Primitive.STRING, False)),
    ],
)
def test_what_a_foreign_iceberg_type_means(type_: IcebergType, means: Type) -> None:
    schema = Schema(NestedField(1, "x", type_))
    assert types(from_iceberg(schema, {})) == [means]


@pytest.mark.parametrize(
    "type_",
    [
        TimestampNanoType(),
        TimestamptzNanoType(),
        UnknownType(),
        MapType(2, IntegerType(), 3, StringType()),
    ],
)
def test_what_iceberg_has_and_avro_has_not(type_: IcebergType) -> None:
    with pytest.raises(SchemaRefused, match=r"row\.x: .* has no Avro type"):
        from_iceberg(Schema(NestedField(1, "x", type_)), {})


@pytest.mark.parametrize(
    ("type_", "means"),
    [
        ("byte", Primitive.INT),
        ("short", Primitive.INT),
        ("varchar(10)", Primitive.STRING),
        ("char(3)", Primitive.STRING),
        ("string collate UNICODE_CI", Primitive.STRING),
        ("time(6)", Primitive.TIME_MICROS),
        ("timestamp_ntz", Primitive.LOCAL_TIMESTAMP_MICROS),
        ("decimal(10,0)", Decimal(10, 0)),
        (spark(("int", "long")), Record("x", (Field("int", Primitive.LONG, nullable=True),))),
    ],
)
def test_what_a_foreign_spark_type_means(type_: object, means: Type) -> None:
    assert types(from_spark(spark(("x", type_)))) == [means]


@pytest.mark.parametrize(
    "type_",
    [
        "void",
        "variant",
        "calendar_interval",
        "interval day to second",
        "geometry(4326)",
        {"type": "udt", "class": "org.apache.spark.ml.linalg.VectorUDT"},
        {"type": "map", "keyType": "integer", "valueType": "long", "valueContainsNull": True},
    ],
)
def test_what_spark_has_and_avro_has_not(type_: object) -> None:
    with pytest.raises(SchemaRefused, match=r"row\.x: .* has no Avro type"):
        from_spark(spark(("x", type_)))


def test_records_in_columns_get_names_that_avro_allows() -> None:
    inner = ("b", spark(("c", "long")))
    record = from_spark(spark(("string", spark(inner)), ("a", spark(inner)), ("b", spark(inner))))
    assert parse_avro(to_avro(record)) == record
    assert [type_.name for type_ in types(record) if isinstance(type_, Record)] == [
        "string_",
        "a",
        "b_2",
    ]


def test_names_that_no_avro_schema_can_have() -> None:
    with pytest.raises(SchemaRefused) as refused:
        from_spark(spark(("my column", "integer"), ("ID", "integer"), ("id", "integer")))
    assert len(refused.value.problems) == 2
