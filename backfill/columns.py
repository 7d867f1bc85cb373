"""The column of times that a replay goes by, and those of the data contract, in an Arrow batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from backfill.event_spans import NO_EVENTS
from headrace.contract import INGESTION_TS, METADATA

if TYPE_CHECKING:
    from backfill.event_spans import Span


def times_of(batch: pa.RecordBatch, column: str) -> pa.Int64Array:
    """Return the times of a batch in microseconds; dots lead into a struct."""
    name, *inside_it = column.split(".")
    times = batch.column(name)
    for field in inside_it:
        times = pc.struct_field(times, field)
    return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())


def arrivals_of(batch: pa.RecordBatch, time_column: str) -> pa.Int64Array:
    """Return when the records of a batch arrived; by the column of times where nobody kept it."""
    name, _, field = INGESTION_TS.partition(".")
    held = batch.schema.field(name).type if name in batch.schema.names else None
    is_kept = held is not None and pa.types.is_struct(held) and held.get_field_index(field) >= 0
    return times_of(batch, INGESTION_TS if is_kept else time_column)


def span_of(times: pa.Int64Array) -> Span:
    """Return the least and the greatest of some times."""
    found = pc.min_max(times)
    low, high = found["min"].as_py(), found["max"].as_py()
    return NO_EVENTS if low is None or high is None else (low, high)


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
