"""What an output with Spark expressions makes of records, in a Spark session of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, StructField, StructType

from headrace.records.arrow import to_rows
from headrace.schema.spark import from_spark
from router.explain.outcomes import Filtered, failure, passed
from router.tasks.sending import reason_of
from router.tasks.sent_lines import headers_of
from router.tasks.spark_decoding import decoded_batch
from router.tasks.spark_output import evaluate, values_type
from router.tasks.spark_sending import OUT, encoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from headrace.kafka.message import GivenMessage
    from headrace.records.rows import Row
    from router.explain.outcomes import Outcome
    from router.plan.model import Outlet, RoutePlan


def spark_outcomes(
    spark: SparkSession, plan: RoutePlan, outlet: Outlet, good: Sequence[tuple[GivenMessage, Row]]
) -> list[Outcome]:
    """Return what becomes of each of these decoded records, in their order."""
    # The columns that name a position are not asked for: the records know it.
    batch = decoded_batch(plan, 0, good, [])
    # One task, so that the order stays.
    rows = spark.range(0, 1, 1, 1).mapInArrow(
        lambda _: iter([batch]), from_arrow_schema(batch.schema)
    )
    evaluated = rows.withColumn(OUT, evaluate(outlet)).select(OUT)
    written = from_spark(values_type(evaluated))
    # As Arrow's own bytes: Spark's way back to Python minds a null where a field of it has none.
    answer = StructType([StructField("found", BinaryType())])
    answers = evaluated.mapInArrow(_serialized, answer).collect()
    found = pa.chunked_array(
        [pa.ipc.open_stream(row["found"]).read_next_batch().column(OUT) for row in answers]
    ).combine_chunks()
    through = found.field("passed")
    failed, filtered = found.is_null().to_pylist(), through.is_null().to_pylist()
    values = to_rows(through.field("values"), written)
    keys = through.field("key").to_pylist()
    encode = encoder(outlet, written)
    headers = headers_of(plan.source.region, has_origin=outlet.has_origin)

    def outcome(number: int, record: GivenMessage) -> Outcome:
        if failed[number]:
            return failure(plan, "Spark cannot evaluate it")
        if filtered[number]:
            return Filtered()
        try:
            value = encode(values[number])
        except Exception as problem:  # noqa: BLE001 - as a task takes it
            return failure(plan, reason_of(problem))
        origin = f"{plan.source.topic}/{record.partition()}/"
        return passed(value, keys[number], headers(record, origin))

    return [outcome(number, record) for number, (record, _) in enumerate(good)]


def _serialized(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"found": [sink.getvalue().to_pybytes()]})
