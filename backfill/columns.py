"""The columns of the data contract in an Arrow batch."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headrace.contract import METADATA

INGESTION_FIELD = "kafka_ingestion_ts"


def ingestion_times(batch: pa.RecordBatch) -> pa.Int64Array:
    """Return the ingestion times of a batch in microseconds."""
    times = pc.struct_field(batch.column(METADATA), INGESTION_FIELD)
    return times.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())


def regions_of(batch: pa.RecordBatch) -> pa.StringArray:
    """Return the regions of a batch."""
    return pc.struct_field(batch.column(METADATA), "region").cast(pa.string())


def topics_of(batch: pa.RecordBatch) -> pa.StringArray:
    """Return the topics that the records of a batch came from."""
    return pc.struct_field(batch.column(METADATA), "topic").cast(pa.string())


def partitions_of(batch: pa.RecordBatch) -> pa.Int32Array:
    """Return the Kafka partitions of a batch."""
    return pc.struct_field(batch.column(METADATA), "partition").cast(pa.int32())


def offsets_of(batch: pa.RecordBatch) -> pa.Int64Array:
    """Return the offsets of a batch."""
    return pc.struct_field(batch.column(METADATA), "offset").cast(pa.int64())


def inside(times: pa.Int64Array, span_us: tuple[int, int]) -> pa.BooleanArray:
    """Return which times lie in a half-open span."""
    return pc.and_(pc.greater_equal(times, span_us[0]), pc.less(times, span_us[1]))
