"""The data contract: what every record in flight carries beside the stream's own columns."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from headrace.schema import rules
from headrace.schema.model import Array, Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

METADATA: Final = rules.METADATA
INGESTION_TS: Final = f"{METADATA}.kafka_ingestion_ts"
TOPIC: Final = f"{METADATA}.topic"
PARTITION: Final = f"{METADATA}.partition"
OFFSET: Final = f"{METADATA}.offset"
REGION: Final = f"{METADATA}.region"

METADATA_RECORD: Final = Record(
    "headrace.Metadata",
    (
        Field(
            "kafka_ingestion_ts",
            Primitive.TIMESTAMP_MICROS,
            nullable=False,
            doc="the Kafka timestamp of the record, in the topic that live and lake both read",
        ),
        Field("topic", Primitive.STRING, nullable=False),
        Field("partition", Primitive.INT, nullable=False),
        Field("offset", Primitive.LONG, nullable=False),
        Field("region", Primitive.STRING, nullable=True),
    ),
)
METADATA_FIELD: Final = Field(METADATA, METADATA_RECORD, nullable=False)

# What a lake table may keep of the Kafka record itself, for replays into topics. Applications see
# none of it: what they read live does not have it.
RECORD: Final = rules.RECORD
KEY: Final = "key"
HEADERS: Final = "headers"
# Comes with the key: a row whose columns are all null need not be a record without a value.
TOMBSTONE: Final = "tombstone"
HEADER_RECORD: Final = Record(
    "headrace.Header",
    (
        Field("name", Primitive.STRING, nullable=False),
        Field("value", Primitive.BYTES, nullable=True),
    ),
)
_KEPT: Final[Mapping[str, tuple[Field, ...]]] = MappingProxyType(
    {
        KEY: (
            Field(KEY, Primitive.BYTES, nullable=True),
            Field(TOMBSTONE, Primitive.BOOLEAN, nullable=True),
        ),
        HEADERS: (Field(HEADERS, Array(HEADER_RECORD, item_nullable=False), nullable=True),),
    }
)
RESERVED: Final = rules.RESERVED

# Where a stream keeps its rejected records: a ledger and a position beside those of its outputs.
QUARANTINE: Final = "quarantine"

# What a topic of format raw gives: the bytes of its records as they are.
RAW_SCHEMA: Final = Record(
    "headrace.Raw",
    (Field("key", Primitive.BYTES, nullable=True), Field("value", Primitive.BYTES, nullable=True)),
)

# The property of a table that says how the values of its topic are encoded: json, avro or raw.
VALUE_FORMAT: Final = "headrace.value-format"
ValueFormat: TypeAlias = Literal["json", "avro", "raw"]
VALUE_FORMATS: Final[tuple[ValueFormat, ...]] = get_args(ValueFormat)

# Iceberg keeps metrics of a table's first 100 columns only, and without these bounds a replay
# would have to open every file to plan.
TABLE_PROPERTIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"write.metadata.metrics.column.{column}": "full"
        for column in (INGESTION_TS, PARTITION, OFFSET)
    }
)

# Tags that keep an expiry from snapshots which are still needed: of a replay (the run, and behind
# `@` the snapshot of a lookup), of an application that follows a table.
REPLAY_TAG: Final = "headrace-replay-"
REPLAY_TAG_OF: Final = "@"
FOLLOW_TAG: Final = "headrace-follow-"

REGION_HEADER: Final = "region"

# Where a routed record came from: «topic/partition/offset/timestamp in milliseconds», in UTF-8.
# One header and not four: each costs a router a tenth of its work. A record that was routed twice
# has it twice, the nearest hop last.
ORIGIN: Final = "headrace.origin"

# Kafka Connect's names, so that the tools for its dead letter queues read ours.
QUARANTINE_TOPIC: Final = "__connect.errors.topic"
QUARANTINE_PARTITION: Final = "__connect.errors.partition"
QUARANTINE_OFFSET: Final = "__connect.errors.offset"
QUARANTINE_CONNECTOR: Final = "__connect.errors.connector.name"
QUARANTINE_STAGE: Final = "__connect.errors.stage"
QUARANTINE_EXCEPTION_CLASS: Final = "__connect.errors.exception.class.name"
QUARANTINE_EXCEPTION_MESSAGE: Final = "__connect.errors.exception.message"


def without_metadata(record: Record) -> Record:
    """Return the stream's own columns."""
    own = tuple(field for field in record.fields if field.name != METADATA)
    return replace(record, fields=own)


def with_metadata(record: Record) -> Record:
    """Return the stream's own columns, then the metadata struct as the last one."""
    return replace(record, fields=(*without_metadata(record).fields, METADATA_FIELD))


def own_columns(record: Record) -> Record:
    """Return the stream's own columns of a table that may keep more of a record than those."""
    own = tuple(field for field in record.fields if field.name not in RESERVED)
    return replace(record, fields=own)


def record_field(keep: Collection[str]) -> Field:
    """Return the column that keeps these parts of a record: `key`, `headers`."""
    fields = tuple(field for part in (KEY, HEADERS) if part in keep for field in _KEPT[part])
    return Field(RECORD, Record("headrace.Record", fields), nullable=True)
