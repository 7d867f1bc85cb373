"""What is written as JSON is read back the same, whatever the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.formats.decode import ERROR, RAW, decode
from headrace.formats.encode import encode_value
from headrace.schema.spark import to_spark
from tests.integration.formats.kafka_rows import AT
from tests.unit.schema.strategies import in_memory, records, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.schema.model import Record


@st.composite
def tables(draw: st.DrawFn) -> tuple[Record, list[object]]:
    record = draw(records())
    return record, draw(st.lists(values(record), min_size=1, max_size=6))


# Each example is a job of Spark's: few of them, with several rows each.
@settings(max_examples=10, deadline=None)
@given(table=tables())
def test_encoded_rows_are_decoded_the_same(
    spark: SparkSession, table: tuple[Record, list[object]]
) -> None:
    from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
    from pyspark.sql.types import StructType

    record, drawn = table
    rows = [in_memory(record, one) for one in drawn]
    written = spark.createDataFrame(rows, StructType.fromJson(to_spark(record)))
    encoded = written.select(
        encode_value([field.name for field in record.fields], "json").alias("value"),
        F.lit(None).cast("binary").alias("key"),
        F.lit(None).cast("array<struct<key:string,value:binary>>").alias("headers"),
        F.lit("t").alias("topic"),
        F.lit(0).alias("partition"),
        F.lit(0).cast("long").alias("offset"),
        F.lit(AT).alias("timestamp"),
    )
    names = [field.name for field in record.fields]
    read = decode(encoded, record, "json", None).select(*names, ERROR, RAW).collect()
    for before, after in zip(written.collect(), read, strict=True):
        assert after[ERROR] is None, (after[ERROR], bytes(after[RAW]["value"]))
        assert tuple(after[name] for name in names) == tuple(before)
