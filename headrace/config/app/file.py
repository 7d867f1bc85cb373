"""`kind: app`: one application, its sources live or replayed."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from headrace.config.app_sinks import AppSink
from headrace.config.follow import Follow
from headrace.config.hygiene import LakeHygiene
from headrace.config.kafka_parts import (
    REGISTRY_DOC,
    SCHEMA_DOC,
    Format,
    SchemaRef,
    StartingOffsets,
    registry_of,
    registry_subject,
)
from headrace.config.lookups import Lookup
from headrace.config.model import Model
from headrace.config.registries import RegistryAddress
from headrace.config.scalars import Callable_, Duration, KeyName, Name, Text, Topics


class DynamicSource(Model):
    """A source that stands for one of its candidates."""

    type: Literal["dynamic"] = Field(description="dynamic")
    selected: KeyName = Field(description="The candidate to read.")
    candidates: tuple[KeyName, ...] = Field(min_length=1, description="Names of other sources.")


class KafkaTopics(Model):
    """Live topics."""

    type: Literal["kafka"] = Field(description="kafka")
    cluster: KeyName = Field(description="A cluster of headrace.yaml.")
    topics: Topics = Field(description="One topic, or a list of topics of one schema.")
    format: Format = Field(description="How the record's value is encoded.")
    schema_ref: SchemaRef | None = Field(default=None, alias="schema", description=SCHEMA_DOC)
    starting_offsets: StartingOffsets = Field(
        default="earliest", description="Where the very first start begins."
    )
    registry: RegistryAddress | None = Field(default=None, description=REGISTRY_DOC)
    hygiene: LakeHygiene = Field(
        default_factory=LakeHygiene,
        description="What makes a record good: the same as in the lake table's file.",
    )

    @property
    def writers_registry(self) -> RegistryAddress | None:
        """Where the schemas of writers are looked up, None where no registry is named."""
        return registry_of(self.schema_ref, self.registry)

    @property
    def registry_subject(self) -> str | None:
        """The subject that the schema is kept under, None where it is a file or there is none."""
        return registry_subject(self.schema_ref)


class IcebergSource(Model):
    """A table of the past, replayed in steps of bounded lateness."""

    type: Literal["iceberg"] = Field(description="iceberg")
    catalog: KeyName = Field(description="A catalog of headrace.yaml.")
    database: Text = Field(description="The namespace.")
    table: Text = Field(description="The table.")
    max_misalignment_threshold: Duration = Field(
        default=timedelta(minutes=15),
        description="How far the sources may be apart in time within the replay.",
        json_schema_extra={"default": "15min"},
    )
    columns: tuple[Text, ...] = Field(default=(), description="Columns to read. By default all.")
    null_times: Literal["fail", "skip"] = Field(
        default="fail",
        description="What to do where rows of a period, or of a table that is followed, have no time: "
        "stop, or leave them out and count them.",
    )
    follow: Follow | None = Field(
        default=None, description="How a live run reads it. Without, it is of the past alone."
    )

    @property
    def identifier(self) -> str:
        """`catalog.database.table`."""
        return f"{self.catalog}.{self.database}.{self.table}"


class HybridSource(Model):
    """A table's whole history, then its topics from the very next offset, as one source."""

    type: Literal["hybrid"] = Field(description="hybrid")
    past: KeyName = Field(description="A source of type iceberg: where it begins.")
    live: KeyName = Field(description="A source of type kafka: what the table is landed from.")
    order: Literal["bounded", "strict"] = Field(
        default="bounded",
        description="How the history comes: bounded by max_misalignment_threshold, or strict: each "
        "Kafka partition by its offsets, as it comes live.",
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
        description="How far the column may be ahead of the record's kafka_ingestion_ts, live and "
        "replayed. One record further ahead would make all that follow late.",
    )
    on_ahead: OnAhead = Field(
        default="quarantine",
        description="What to do with a record that is further ahead: quarantine (in a replay: leave "
        "out, for the table keeps it), drop, or clamp its column to what may be.",
    )


class App(Model):
    """One application."""

    kind: Literal["app"] = Field(description="app")
    name: Name = Field(description="The application's name; its checkpoints and plans carry it.")
    sources: dict[KeyName, AppSource] = Field(
        min_length=1, description="The sources by the names that the transform knows them by."
    )
    lookups: dict[KeyName, Lookup] = Field(
        default_factory=dict,
        description="Tables to join with, by the names that the transform knows them by.",
    )
    transform: Transform = Field(description="What is computed.")
    watermarks: dict[KeyName, Watermark] = Field(
        default_factory=dict, description="How late the records of a source may come."
    )
    sink: AppSink = Field(description="Where the result goes.")
