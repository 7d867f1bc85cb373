from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import assign_fresh_schema_ids

from headrace.contract import with_metadata
from headrace.schema.arrow import for_spark, to_arrow
from headrace.schema.avro import parse_avro, stored_avro, to_avro
from headrace.schema.iceberg import from_iceberg, to_iceberg
from headrace.schema.spark import from_spark, to_spark
from tests.unit.schema.strategies import in_memory, records, values

if TYPE_CHECKING:
    from headrace.schema.model import Record

few = settings(max_examples=60, deadline=None)


@few
@given(records())
def test_avro_and_back(record: Record) -> None:
    rendered = to_avro(record)
    assert parse_avro(rendered) == record
    assert parse_avro(json.dumps(rendered)) == record


@few
@given(records())
def test_fastavro_accepts_the_rendering(record: Record) -> None:
    fastavro.parse_schema(to_avro(record))


@few
@given(records())
def test_arrow_through_a_parquet_file(record: Record) -> None:
    file = io.BytesIO()
    pq.write_table(to_arrow(record).empty_table(), file)
    read = pq.read_schema(file)
    assert read.equals(to_arrow(record))


@few
@given(records())
def test_iceberg_and_back(record: Record) -> None:
    assert from_iceberg(*to_iceberg(record)) == record


@few
@given(records())
def test_spark_and_back(record: Record) -> None:
    assert from_spark(json.loads(json.dumps(to_spark(record)))) == record


@few
@given(records(depth=1))
def test_the_metadata_struct_travels_along(record: Record) -> None:
    stored = with_metadata(record)
    assert stored_avro(to_avro(stored), "test") == stored
    assert from_iceberg(*to_iceberg(stored)) == stored
    assert from_spark(to_spark(stored)) == stored


@few
@given(records())
def test_iceberg_ids_are_those_of_a_new_table(record: Record) -> None:
    schema, _ = to_iceberg(record)
    assert assign_fresh_schema_ids(schema) == schema
    assert [field.field_id for field in schema.fields] == [*range(1, len(record.fields) + 1)]


def as_small(type_: pa.DataType) -> pa.DataType:
    """Return the type without Arrow's 64-bit offsets, which pyiceberg prefers."""
    if pa.types.is_struct(type_):
        return pa.struct([small_field(type_.field(i)) for i in range(type_.num_fields)])
    if pa.types.is_map(type_):
        return pa.map_(as_small(type_.key_type), small_field(type_.item_field))
    if pa.types.is_large_list(type_):
        return pa.list_(small_field(type_.value_field))
    small = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    return small.get(type_, type_)


def small_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, as_small(field.type), field.nullable)


@few
@given(records())
def test_arrow_is_what_pyiceberg_makes_of_iceberg_but_for_wide_offsets(record: Record) -> None:
    schema, _ = to_iceberg(record)
    converted = schema_to_pyarrow(schema, include_field_ids=False)
    assert pa.schema([small_field(field) for field in converted]).equals(to_arrow(record))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_values_from_avro_bytes_through_arrow_and_parquet(data: st.DataObject) -> None:
    record = data.draw(records())
    rows = data.draw(st.lists(values(record), max_size=3))
    parsed = fastavro.parse_schema(to_avro(record))
    payload = io.BytesIO()
    fastavro.writer(payload, parsed, rows)
    payload.seek(0)
    expected = [in_memory(record, row) for row in fastavro.reader(payload)]

    table = pa.Table.from_pylist(expected, schema=to_arrow(record))
    file = io.BytesIO()
    pq.write_table(table, file)
    read = pq.read_table(file)

    assert read.equals(table)
    assert read.schema.equals(to_arrow(record))
    assert table.to_pylist(maps_as_pydicts="strict") == expected

    handed_over = table.cast(for_spark(table.schema))
    assert "fixed_size_binary" not in str(handed_over.schema)
    assert handed_over.to_pylist(maps_as_pydicts="strict") == expected
    assert handed_over.cast(table.schema).equals(table)
