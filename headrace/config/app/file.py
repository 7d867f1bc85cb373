"""`kind: app`: one application, its sources live or replayed."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from headrace.config.app.follow import Follow
from headrace.config.app.lookups import Lookup
from headrace.config.app.sinks import AppSink
from headrace.config.common.hygiene import LakeHygiene
from headrace.config.common.kafka_parts import KafkaRecords
from headrace.config.common.model import Model, TableName
from headrace.config.common.scalars import Callable_, Duration, KeyName, Name, Text, Topics


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
    follow: Follow | None = Field(
        default=None,
        description="How a live run reads the table. Without it, only replays can read the table.",
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


class Transform(Model):
    """What the application computes: exactly one of the three."""

    python: Callable_ | None = Field(
        default=None, description="`module:function`, called as build(sources) -> DataFrame."
    )
    sql: Text | None = Field(default=None, description="A query over the sources by their names.")
    sql_file: Text | None = Field(default=None, description="A file with such a query.")
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
    max_ahead: Duration | None = Field(
        default=None,
        description="How far the column may be ahead of the record's kafka_ingestion_ts, live and in a "
        "replay. Without it, one record that is far ahead makes all following records late.",
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
