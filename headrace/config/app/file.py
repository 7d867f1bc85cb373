"""`kind: app`: one application, its sources live or replayed."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema

from headrace.config.app.sinks import AppSink
from headrace.config.common.hygiene import LakeHygiene
from headrace.config.common.kafka_parts import KafkaRecords
from headrace.config.common.model import Model, TableName, optional
from headrace.config.common.scalars import (
    Callable_,
    Count,
    Duration,
    KeyName,
    Name,
    PositiveDuration,
    Text,
    Topics,
    scalar_text,
    time_text,
)

_START_EXAMPLE = "earliest, latest, or a time such as 2026-03-01T00:00:00Z"
REPLAYED: Final = "replayed"
TODAY: Final = "today"
AS_OF_EXAMPLE: Final = (
    f"{REPLAYED}, {TODAY}, a time such as 2026-03-01T12:00:00Z or a snapshot's id"
)


class DynamicSource(Model):
    """A source that stands for one of its candidates."""

    type: Literal["dynamic"] = Field(description="dynamic")
    selected: KeyName = Field(description="The candidate to read.")
    candidates: tuple[KeyName, ...] = Field(min_length=1, description="Names of other sources.")


class KafkaTopics(KafkaRecords):
    """Live topics."""

    topics: Topics = Field(description="One topic, or a list of topics of one schema.")
    hygiene: LakeHygiene = Field(
        default_factory=LakeHygiene,
        description="The rules for a good record. Write the same as in the lake table's file.",
    )


Start = Annotated[
    str,
    BeforeValidator(lambda value: time_text(value, ("earliest", "latest"), _START_EXAMPLE)),
    WithJsonSchema({"type": "string", "examples": ["earliest", "latest", "2026-03-01T00:00:00Z"]}),
]


class Follow(Model):
    """How a live run follows a table."""

    start: Start = Field(
        default="earliest",
        description="Where the very first start begins. earliest: with all that the table holds. latest: "
        "with what is committed from then on. A time: with the records from that time on.",
    )
    discovery_interval: PositiveDuration = Field(
        default=timedelta(seconds=30),
        description="How often the table is checked for new commits.",
        json_schema_extra={"default": "30s"},
    )
    max_rows: Count = Field(
        default=2_000_000, description="The most rows of a batch, over all tables together."
    )
    up_to: Literal["complete", "committed"] = Field(
        default="complete",
        description="complete: read at most the threshold (max_misalignment_threshold) beyond the time up "
        "to which the lake writer says that the table is complete. committed: read all that "
        "is committed.",
    )
    on_overwrite: Literal["fail", "skip"] = Field(
        default="fail",
        description="What to do about a commit that changed or removed rows which were not read yet: "
        "stop, or continue after it.",
    )
    time_column: Text | None = optional(
        "The column of times that gives the order, for a table of another writer. By default "
        "__metadata__.kafka_ingestion_ts."
    )


class IcebergSource(TableName):
    """A table of the past, replayed in steps of bounded lateness."""

    type: Literal["iceberg"] = Field(description="iceberg")
    max_misalignment_threshold: Duration = Field(
        default=timedelta(minutes=15),
        description="The threshold: how much older a record may be than a record of an earlier step of a "
        "replay. --max-misalignment overrides it.",
        json_schema_extra={"default": "15min"},
    )
    columns: tuple[Text, ...] = Field(default=(), description="Columns to read. By default all.")
    null_times: Literal["fail", "skip"] = Field(
        default="fail",
        description="What to do with rows without a time, in a period or in a followed table: stop, or "
        "leave them out and count them.",
    )
    follow: Follow | None = optional(
        "How a live run reads the table. Without it, only replays can read the table."
    )


class HybridSource(Model):
    """A table's whole history, then its topics from the next offset on, as one source."""

    type: Literal["hybrid"] = Field(description="hybrid")
    past: KeyName = Field(description="A source of type iceberg: the history.")
    live: KeyName = Field(description="A source of type kafka: the topics that land in the table.")
    order: Literal["bounded", "strict"] = Field(
        default="bounded",
        description="The order of the history. bounded: no record comes out of order by more than "
        "max_misalignment_threshold. strict: each Kafka partition in the order of its "
        "offsets, as live.",
    )


AppSource = Annotated[
    DynamicSource | KafkaTopics | IcebergSource | HybridSource, Field(discriminator="type")
]


def _as_of(value: object) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool):
        snapshot_id = scalar_text(value).strip()
        if snapshot_id.isdecimal():
            return snapshot_id
    return time_text(value, (REPLAYED, TODAY), AS_OF_EXAMPLE)


AsOf = Annotated[
    str,
    BeforeValidator(_as_of),
    WithJsonSchema(
        {"type": ["string", "integer"], "examples": [REPLAYED, TODAY, "2026-03-01T12:00:00Z"]}
    ),
]


class Lookup(TableName):
    """A table of reference data, such as titles, to join with."""

    type: Literal["iceberg"] = Field(description="iceberg")
    as_of: AsOf = Field(
        default=REPLAYED,
        description="The state of the table that a replay joins with. replayed: the state when the "
        "records arrived. today: the state when the replay begins. A time or a snapshot's id: "
        "that one state, also live.",
    )
    columns: tuple[Text, ...] = Field(default=(), description="Columns to read. By default all.")

    @property
    def is_fixed(self) -> bool:
        """Whether it is one and the same state for ever, live and replayed."""
        return self.as_of not in {REPLAYED, TODAY}


class Transform(Model):
    """What the application computes: exactly one of the three."""

    python: Callable_ | None = optional("`module:function`, called as build(sources) -> DataFrame.")
    sql: Text | None = optional("A query over the sources by their names.")
    sql_file: Text | None = optional("A file with such a query.")
    udfs: tuple[Callable_, ...] = Field(
        default=(),
        description="Functions that the query may call, each as `module:function`: a function with "
        "a return type, or one made by Spark's udf or pandas_udf.",
    )


OnAhead: TypeAlias = Literal["quarantine", "drop", "clamp"]


class Watermark(Model):
    """How late a source's records may come."""

    column: Text = Field(description="The column with the event's time.")
    delay: Duration = Field(description="How late a record may come in a live run.")
    max_ahead: Duration | None = optional(
        "How far the column may be ahead of the record's kafka_ingestion_ts, live and in a "
        "replay. Without it, one record that is far ahead makes all following records late."
    )
    on_ahead: OnAhead = Field(
        default="quarantine",
        description="What to do with a record that is further ahead. quarantine: in a replay it is left "
        "out, and the table still has it. drop: leave it out. clamp: set its column to the "
        "limit.",
    )


class App(Model):
    """One application."""

    kind: Literal["app"] = Field(description="app")
    name: Name = Field(description="The application's name; its checkpoints and plans carry it.")
    sources: dict[KeyName, AppSource] = Field(
        min_length=1, description="The sources, under the names that the transform uses."
    )
    lookups: dict[KeyName, Lookup] = Field(
        default_factory=dict,
        description="Tables to join with, under the names that the transform uses.",
    )
    transform: Transform = Field(description="What is computed.")
    watermarks: dict[KeyName, Watermark] = Field(
        default_factory=dict, description="How late the records of a source may come."
    )
    sink: AppSink = Field(description="The sink of the result.")
