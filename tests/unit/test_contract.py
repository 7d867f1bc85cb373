from __future__ import annotations

from headrace.contract import (
    INGESTION_TS,
    METADATA,
    METADATA_RECORD,
    RECORD,
    TABLE_PROPERTIES,
    own_columns,
    record_field,
    with_metadata,
    without_metadata,
)
from headrace.schema.arrow import to_arrow
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record

STREAM = Record("tv.playback", (Field("id", Primitive.STRING, nullable=False),))


def test_the_metadata_struct_is_the_last_column_and_there_once() -> None:
    stored = with_metadata(STREAM)
    assert [field.name for field in stored.fields] == ["id", METADATA]
    assert with_metadata(stored) == stored
    assert without_metadata(stored) == STREAM
    assert without_metadata(STREAM) == STREAM


def test_what_is_kept_of_a_record_is_what_is_asked_for() -> None:
    kept = record_field(["headers", "key"])
    stored = Record(STREAM.name, (*with_metadata(STREAM).fields, kept))
    assert own_columns(stored) == STREAM
    assert with_metadata(STREAM) == with_metadata(with_metadata(STREAM))
    schema, _ = to_iceberg(stored)
    assert str(schema.find_type(RECORD)) == (
        "struct<9: key: optional binary, 10: tombstone: optional boolean,"
        " 11: headers: optional list<struct<13: name: required string, 14: value: optional binary>>>"
    )
    (only,) = to_iceberg(Record("only", (record_field(["headers"]),)))[0].fields
    assert "key" not in str(only)


def test_the_metadata_struct_is_the_designs() -> None:
    schema, _ = to_iceberg(with_metadata(STREAM))
    assert str(schema.find_type(METADATA)) == (
        "struct<3: kafka_ingestion_ts: required timestamptz"
        " (the Kafka timestamp of the record, in the topic that live and lake both read),"
        " 4: topic: required string, 5: partition: required int, 6: offset: required long,"
        " 7: region: optional string>"
    )
    struct = to_arrow(with_metadata(STREAM)).field(METADATA).type
    assert str(struct.field("kafka_ingestion_ts").type) == "timestamp[us, tz=UTC]"


def test_the_bounds_that_a_replay_plans_by_are_always_kept() -> None:
    assert dict(TABLE_PROPERTIES) == {
        "write.metadata.metrics.column.__metadata__.kafka_ingestion_ts": "full",
        "write.metadata.metrics.column.__metadata__.partition": "full",
        "write.metadata.metrics.column.__metadata__.offset": "full",
    }
    assert METADATA_RECORD.field(INGESTION_TS.removeprefix(f"{METADATA}.")) is not None
