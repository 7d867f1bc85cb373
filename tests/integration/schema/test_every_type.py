"""One value of every type, written by one engine and read by the other."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as Number
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.contract import TABLE_PROPERTIES, with_metadata
from headrace.schema.arrow import for_spark, to_arrow
from headrace.schema.iceberg import from_iceberg, to_iceberg
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
from headrace.schema.spark import from_spark, to_spark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

# PySpark leaves the sockets that it collects over to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

LEAVES: dict[str, Type] = {
    **{primitive.name.lower(): primitive for primitive in Primitive},
    "kind": Enumeration("tv.Kind", ("start", "stop")),
    "digest": Fixed("tv.Digest", 5),
    "raw_uuid": Fixed("tv.RawUuid", 16, is_uuid=True),
    "small_number": Decimal(9, 2),
    "large_number": Decimal(38, 10),
    "fixed_number": Decimal(18, 3, Fixed("tv.Number", 8)),
}

# Before 1970 and to the last microsecond: where conversions go wrong.
LOW = {
    "boolean": False,
    "int": -(2**31),
    "long": -(2**63),
    "float": -0.5,
    "double": float("-inf"),
    "bytes": b"",
    "string": "",
    "date": dt.date(1901, 12, 31),
    "time_millis": 0,
    "time_micros": 0,
    "timestamp_millis": dt.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=dt.UTC),
    "timestamp_micros": dt.datetime(1901, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC),
    "local_timestamp_millis": dt.datetime(1969, 12, 31, 23, 59, 59, 999000),  # noqa: DTZ001 - local
    "local_timestamp_micros": dt.datetime(1901, 1, 1, 0, 0, 0, 1),  # noqa: DTZ001 - local
    "uuid": "ABCDEF00-0000-4000-8000-000000000001",
    "kind": "start",
    "digest": b"\x00\x01\x02\x03\xff",
    "raw_uuid": b"\x00" * 16,
    "small_number": Number("-9999999.99"),
    "large_number": Number("-9999999999999999999999999999.9999999999"),
    "fixed_number": Number("-0.001"),
}
HIGH = {
    "boolean": True,
    "int": 2**31 - 1,
    "long": 2**63 - 1,
    "float": 3.4028234663852886e38,
    "double": 5e-324,
    "bytes": b"\x00\xff",
    "string": "\N{WATER WAVE} é",
    "date": dt.date(2200, 2, 28),
    "time_millis": 86_399_999,
    "time_micros": 86_399_999_999,
    "timestamp_millis": dt.datetime(2100, 7, 1, 12, 30, 0, 123000, tzinfo=dt.UTC),
    "timestamp_micros": dt.datetime(2199, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
    "local_timestamp_millis": dt.datetime(2024, 3, 31, 2, 30),  # noqa: DTZ001 - local
    "local_timestamp_micros": dt.datetime(2199, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001 - local
    "uuid": "not checked by Avro",
    "kind": "stop",
    "digest": b"abcde",
    "raw_uuid": bytes(range(16)),
    "small_number": Number("9999999.99"),
    "large_number": Number("9999999999999999999999999999.9999999999"),
    "fixed_number": Number("999999999999999.999"),
}
NOTHING = dict.fromkeys(LEAVES)
LEAF_RECORD = Record(
    "tv.Leaves", tuple(Field(name, type_, nullable=True) for name, type_ in LEAVES.items())
)
EVERY_TYPE = with_metadata(
    Record(
        "tv.EveryType",
        (
            Field("id", Primitive.LONG, nullable=False),
            *(Field(name, type_, nullable=True, doc=f"a {name}") for name, type_ in LEAVES.items()),
            Field("inner", LEAF_RECORD, nullable=False),
            Field("many", Array(LEAF_RECORD, item_nullable=True), nullable=True),
            Field("named", Map(LEAF_RECORD, item_nullable=False), nullable=True),
            Field("words", Array(Primitive.STRING, item_nullable=True), nullable=True),
            Field("counts", Map(Primitive.LONG, item_nullable=True), nullable=True),
            Field("deep", Array(Map(Array(Primitive.UUID, False), True), False), nullable=False),
        ),
    )
)


def metadata(offset: int, region: str | None) -> dict[str, object]:
    at = dt.datetime(2024, 1, 1, 0, 0, offset, 123456, tzinfo=dt.UTC)
    return {
        "kafka_ingestion_ts": at,
        "topic": "playback",
        "partition": 3,
        "offset": offset,
        "region": region,
    }


ROWS: list[dict[str, object]] = [
    {
        "id": 0,
        **LOW,
        "inner": HIGH,
        "many": [LOW, None, HIGH],
        "named": {"low": LOW, "": NOTHING},
        "words": ["a", None, ""],
        "counts": {"a": 1, "b": None},
        "deep": [{"a": ["x", "y"], "b": None}, {}],
        "__metadata__": metadata(0, "eu"),
    },
    {
        "id": 1,
        **HIGH,
        "inner": LOW,
        "many": [],
        "named": {},
        "words": [],
        "counts": {},
        "deep": [],
        "__metadata__": metadata(1, None),
    },
    {
        "id": 2,
        **NOTHING,
        "inner": NOTHING,
        "many": [],
        "named": {},
        "words": None,
        "counts": None,
        "deep": [{}],
        "__metadata__": metadata(2, None),
    },
]
NULLS_AROUND_STRUCTS = [*ROWS[:2], {**ROWS[2], "many": None, "named": None}]


@pytest.fixture
def table(lake_catalog: Catalog) -> Iterator[Table]:
    schema, properties = to_iceberg(EVERY_TYPE)
    lake_catalog.create_namespace_if_not_exists("schema_tests")
    # A name of its own for each test: Spark remembers tables by their names.
    made = lake_catalog.create_table(
        f"schema_tests.every_type_{uuid4().hex}",
        schema,
        properties={**properties, **TABLE_PROPERTIES},
    )
    yield made
    lake_catalog.drop_table(made.name())


def in_spark(table: Table) -> str:
    return ".".join(("lake", *table.name()))


def spark_type() -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(to_spark(EVERY_TYPE))


def values(rows: pa.Table) -> list[object]:
    return [*rows.sort_by("id").to_pylist(maps_as_pydicts="strict")]


def seen_by_spark(spark: SparkSession, table: Table) -> list[object]:
    return values(spark.table(in_spark(table)).toArrow())


def seen_by_pyiceberg(table: Table) -> list[object]:
    return values(table.refresh().scan().to_arrow())


def seen_in_the_files(table: Table) -> pa.Table:
    paths = table.refresh().inspect.data_files()["file_path"].to_pylist()
    return pa.concat_tables(pq.read_table(path.removeprefix("file:")) for path in paths)


def test_spark_reads_what_pyiceberg_wrote(spark: SparkSession, table: Table) -> None:
    table.append(pa.Table.from_pylist(ROWS, schema=to_arrow(EVERY_TYPE)))
    assert seen_by_spark(spark, table) == ROWS
    assert seen_by_pyiceberg(table) == ROWS


def test_pyiceberg_reads_what_spark_wrote(spark: SparkSession, table: Table) -> None:
    spark.createDataFrame(ROWS, spark_type()).writeTo(in_spark(table)).append()
    assert seen_by_pyiceberg(table) == ROWS
    assert seen_by_spark(spark, table) == ROWS


def test_arrow_reads_the_very_files_that_spark_wrote(spark: SparkSession, table: Table) -> None:
    spark.createDataFrame(NULLS_AROUND_STRUCTS, spark_type()).writeTo(in_spark(table)).append()
    read = seen_in_the_files(table)
    assert read.schema.equals(to_arrow(EVERY_TYPE))
    assert values(read) == NULLS_AROUND_STRUCTS
    assert seen_by_spark(spark, table) == NULLS_AROUND_STRUCTS


@pytest.mark.xfail(
    raises=AssertionError,
    reason="a null list or map of structs becomes empty: apache/iceberg-python#3833",
)
def test_pyiceberg_keeps_nulls_around_structs(spark: SparkSession, table: Table) -> None:
    spark.createDataFrame(NULLS_AROUND_STRUCTS, spark_type()).writeTo(in_spark(table)).append()
    assert seen_by_pyiceberg(table) == NULLS_AROUND_STRUCTS


def test_spark_sees_the_types_that_we_say(spark: SparkSession, table: Table) -> None:
    columns = spark.table(in_spark(table)).schema.jsonValue()
    assert without_annotations(columns) == without_annotations(to_spark(EVERY_TYPE))
    assert from_iceberg(table.schema(), table.properties) == EVERY_TYPE


def test_a_table_keeps_its_schema_through_changes_by_spark(
    spark: SparkSession, table: Table
) -> None:
    spark.sql(f"ALTER TABLE {in_spark(table)} ADD COLUMN added STRING")
    spark.sql(f"ALTER TABLE {in_spark(table)} ALTER COLUMN time_millis TYPE BIGINT")
    changed = table.refresh()
    read = from_iceberg(changed.schema(), changed.properties)
    expected = {field.name: field.type for field in EVERY_TYPE.fields}
    expected |= {"added": Primitive.STRING, "time_millis": Primitive.LONG}
    assert {field.name: field.type for field in read.fields} == expected


def test_spark_takes_arrow_batches(spark: SparkSession) -> None:
    rows = pa.Table.from_pylist(NULLS_AROUND_STRUCTS, schema=to_arrow(EVERY_TYPE))
    frame = spark.createDataFrame(rows.cast(for_spark(rows.schema)), spark_type())
    assert values(frame.toArrow()) == NULLS_AROUND_STRUCTS


def test_annotations_live_through_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, spark_type())
    assert from_spark(frame.schema.jsonValue()) == EVERY_TYPE
    some = frame.where("id > 0").selectExpr("uuid AS renamed", "upper(kind) AS kind", "inner.uuid")
    read = from_spark(some.schema.jsonValue())
    types = [field.type for field in read.fields]
    # A renamed column is the same column; what is computed, or taken out of a struct, is new.
    assert types == [Primitive.UUID, Primitive.STRING, Primitive.STRING]


def without_annotations(node: object) -> object:
    if isinstance(node, list):
        return [without_annotations(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if key != "headrace.avro"}
    return {key: without_annotations(value) for key, value in kept.items()}
