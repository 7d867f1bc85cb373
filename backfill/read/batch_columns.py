"""The column of times that a replay goes by, and those of the data contract, in an Arrow batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from backfill.plan.units import NO_EVENTS
from headrace.contract import HEADERS, INGESTION_TS, KEY, METADATA, RECORD, TOMBSTONE, record_field
from headrace.records.arrow import times_of
from headrace.schema.arrow import to_arrow
from headrace.schema.model import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyiceberg.schema import Schema

    from backfill.plan.units import Span


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


class Positions(NamedTuple):
    """Where each record of a batch was in Kafka."""

    topic: pa.StringArray
    partition: pa.Int32Array
    offset: pa.Int64Array


def positions_of(batch: pa.RecordBatch) -> Positions:
    """Return the positions of a batch."""
    topic, partition, offset = (
        pc.struct_field(batch.column(METADATA), name) for name in Positions._fields
    )
    return Positions(topic.cast(pa.string()), partition.cast(pa.int32()), offset.cast(pa.int64()))


def inside(times: pa.Int64Array, span_us: tuple[int, int]) -> pa.BooleanArray:
    """Return which times lie in a half-open span."""
    return pc.and_(pc.greater_equal(times, span_us[0]), pc.less(times, span_us[1]))


KNOWN = {
    field.name: field.type
    for field in to_arrow(Record("row", (record_field((KEY, HEADERS)),)))[0].type
}
Headers = list[tuple[str, bytes | None]]


def record_type(columns: Schema) -> pa.StructType | None:
    """Return the type of the column that keeps records; None where there is none of ours."""
    held = next((field.field_type for field in columns.fields if field.name == RECORD), None)
    names = [field.name for field in getattr(held, "fields", ())]
    if not names or not KNOWN.keys() >= set(names):
        return None
    return pa.struct([(name, KNOWN[name]) for name in names])


def complete_columns(
    batch: pa.RecordBatch,
    columns: Sequence[str],
    kept: pa.StructType | None,
    later: Mapping[str, pa.DataType],
) -> pa.RecordBatch:
    """Return the columns in that order; what a file's rows were not yet kept with is null.

    `later` are columns that came to the table after the file.
    """
    for name, kind in later.items():
        batch = batch.append_column(name, pa.nulls(batch.num_rows, kind))
    if kept is not None:
        others = [name for name in batch.schema.names if name != RECORD]
        batch = batch.select(others).append_column(RECORD, _whole(batch, kept))
    return batch.select(columns)


def keys_of(batch: pa.RecordBatch) -> pa.Array | None:
    """Return the keys that the records had; None where the table does not keep them."""
    return _part(batch, KEY)


def headers_of(batch: pa.RecordBatch) -> list[Headers]:
    """Return the headers that each record had, in their order."""
    kept = _part(batch, HEADERS)
    if kept is None:
        return [[]] * batch.num_rows
    return [[(one["name"], one["value"]) for one in many or ()] for many in kept.to_pylist()]


def tombstones_of(batch: pa.RecordBatch) -> pa.BooleanArray | None:
    """Return which records had no value; None where no row says that it had none."""
    kept = _part(batch, TOMBSTONE)
    if kept is None or not pc.any(kept).as_py():
        return None
    return pc.fill_null(kept, fill_value=False)


def _part(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    column = _column(batch)
    if column is None or name not in KNOWN or column.type.get_field_index(name) < 0:
        return None
    return pc.struct_field(column, name).cast(KNOWN[name])


def _column(batch: pa.RecordBatch) -> pa.StructArray | None:
    if RECORD not in batch.schema.names:
        return None
    column = batch.column(RECORD)
    is_ours = pa.types.is_struct(column.type) and KNOWN.keys() >= set(column.type.names)
    return column if is_ours else None


def _whole(batch: pa.RecordBatch, kept: pa.StructType) -> pa.Array:
    column = _column(batch)
    if column is None:
        return pa.nulls(batch.num_rows, kept)
    if column.type == kept:
        return column
    parts = [
        pa.nulls(batch.num_rows, field.type) if part is None else part
        for field, part in ((field, _part(batch, field.name)) for field in kept)
    ]
    return pa.StructArray.from_arrays(parts, fields=list(kept), mask=column.is_null())


def without_empty_headers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch that pyiceberg read: it makes an empty list of a missing one.

    A record that has no headers has none in the table; an empty list is never written.
    """
    headers = _part(batch, HEADERS)
    if headers is None:
        return batch
    column = batch.column(RECORD)
    is_empty = pc.equal(pc.list_value_length(headers), 0)
    exact = pc.if_else(is_empty, pa.scalar(None, headers.type), headers)
    parts = [
        exact if field.name == HEADERS else pc.struct_field(column, field.name)
        for field in column.type
    ]
    fields = [one.with_type(part.type) for one, part in zip(column.type, parts, strict=True)]
    whole = pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null())
    return batch.set_column(batch.schema.get_field_index(RECORD), RECORD, whole)
