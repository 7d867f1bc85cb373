"""What Spark writes as JSON is read back the same, whatever the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.application.emitted import encode_value
from headrace.contract import with_metadata
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.landing.record_columns import RecordColumns
from headrace.landing.topic_values import Values
from headrace.records.hygiene.rules import HygieneRules
from headrace.schema.arrow import for_spark, to_arrow
from headrace.schema.spark import to_spark
from tests.unit.schema.strategies import in_memory, records, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.schema.model import Record


@st.composite
def tables(draw: st.DrawFn) -> tuple[Record, list[object]]:
    record = draw(records())
    return record, draw(st.lists(values(record), min_size=1, max_size=6))


def maybe_null(columns: object) -> object:
    """Return the same columns, each of which may be null.

    Spark's own way to Arrow fails at a null struct whose fields may not be.
    """
    if isinstance(columns, list):
        return [maybe_null(one) for one in columns]
    if not isinstance(columns, dict):
        return columns
    return {
        name: True if isinstance(one, bool) else maybe_null(one) for name, one in columns.items()
    }


# Each example is a job of Spark's: few of them, with several rows each.
@settings(max_examples=10, deadline=None)
@given(table=tables())
def test_encoded_rows_are_decoded_the_same(
    spark: SparkSession, table: tuple[Record, list[object]]
) -> None:
    from pyspark.sql.types import StructType

    record, drawn = table
    rows = [in_memory(record, one) for one in drawn]
    written = spark.createDataFrame(
        rows, StructType.fromJson(cast("dict[str, Any]", maybe_null(to_spark(record))))
    )
    names = [field.name for field in record.fields]
    encoded = written.select(encode_value(names, "json").alias("value")).collect()
    columns = for_spark(to_arrow(with_metadata(record)))
    read = RecordColumns(Values("v", "json", record, HygieneRules(), None), "t", None, columns)
    batch, _, bad = read(
        [GivenMessage(RecordPosition("t", 0, 0), 0, bytes(row["value"])) for row in encoded], 0
    )
    assert [broken.reason for _, broken in bad] == []
    assert batch.select(names).to_pylist() == written.toArrow().to_pylist()
