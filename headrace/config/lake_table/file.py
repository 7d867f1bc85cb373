"""`kind: lake_table`: one topic, landed in one Iceberg table."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import ConfigDict, Field

from headrace.config.common.for_each import FOR_EACH_DOC, ForEach, source_is_whole
from headrace.config.common.hygiene import LakeHygiene
from headrace.config.common.kafka_parts import KafkaSource, QuarantineTopic
from headrace.config.common.model import Model, NewTable, optional
from headrace.config.common.overrides import OVERRIDES_DOC, Overrides
from headrace.config.common.scalars import Count, Name, PlainText, PositiveDuration, Size
from headrace.config.lake_table.partitioning import PartitionField


class Target(NewTable):
    """The Iceberg table to write, and how its files shall be."""

    partition_by: tuple[PartitionField, ...] | None = optional(
        "day(column), hour, month, year, bucket(n, column), truncate(n, column), column. A "
        "change takes effect at the next start, for new files. Without this key, an existing "
        "table keeps its partitions."
    )
    target_file_size: Size = Field(
        default=128 * 2**20,
        description="The size that data files should have.",
        json_schema_extra={"default": "128MiB"},
    )
    properties: dict[str, PlainText] = Field(
        default_factory=dict, description="Iceberg table properties, set when the table is created."
    )


class Batch(Model):
    """When a batch is committed: at the first limit that is reached."""

    max_interval: PositiveDuration = Field(
        default=timedelta(minutes=1),
        description="The longest time between two commits.",
        json_schema_extra={"default": "1min"},
    )
    max_rows: Count = Field(default=5_000_000, description="The most rows of one commit.")
    max_bytes: Size | None = optional("The most bytes of one commit.")


class LakeTable(Model):
    """A topic that lands in a table."""

    model_config = ConfigDict(json_schema_extra=source_is_whole)

    kind: Literal["lake_table"] = Field(description="lake_table")
    name: Name = Field(description="The writer's name; its commits and checkpoints carry it.")
    for_each: ForEach | None = optional(FOR_EACH_DOC)
    source: KafkaSource = Field(description="The topic to read.")
    hygiene: LakeHygiene = Field(
        default_factory=LakeHygiene, description="The rules for a good record."
    )
    table: Target = Field(description="The table to write.")
    batch: Batch = Field(default_factory=Batch, description="When a batch is committed.")
    schema_evolution: Literal["none", "add_columns", "widen"] = Field(
        default="none",
        description="Which schema changes the table follows, also while the writer runs. none: no change. "
        "add_columns: new fields, and renames by alias. widen: also wider types, and fields "
        "that may now be null.",
    )
    on_incompatible_schema: Literal["stop", "quarantine"] = Field(
        default="stop",
        description="What to do if the table cannot follow a new schema. stop: stop and name the "
        "changes. quarantine: keep the previous schema, and quarantine records that do "
        "not fit it.",
    )
    keep: tuple[Literal["key", "headers"], ...] = Field(
        default=(),
        description="What the table stores of each record besides its columns: key, headers. They land "
        "byte for byte in the column __record__. Applications do not see it; a replay into a "
        "topic writes them again.",
    )
    overrides: Overrides = Field(default_factory=dict, description=OVERRIDES_DOC)

    @property
    def quarantine(self) -> QuarantineTopic | None:
        """Where rejected records go, None where none are stored."""
        return self.hygiene.quarantine_topic(self.source)
