from __future__ import annotations

from headrace.contract import (
    INGESTION_TS,
    METADATA,
    METADATA_RECORD,
    TABLE_PROPERTIES,
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
