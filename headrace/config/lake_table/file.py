"""`kind: lake_table`: one topic, landed in one Iceberg table."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field

from headrace.config.hygiene import LakeHygiene
from headrace.config.kafka_parts import KafkaSource, QuarantineTopic
from headrace.config.model import Model
from headrace.config.overrides import OVERRIDES_DOC, Overrides
from headrace.config.partitioning import PartitionField
from headrace.config.scalars import Count, KeyName, Name, PlainText, PositiveDuration, Size, Text


class Target(Model):
    """The Iceberg table to write, and how its files shall be."""

    catalog: KeyName = Field(description="A catalog of headrace.yaml.")
    database: Text = Field(description="The namespace; made if it is not there.")
    table: Text = Field(description="The table; made if it is not there.")
    partition_by: tuple[PartitionField, ...] | None = Field(
        default=None,
        description="day(column), hour, month, year, bucket(n, column), truncate(n, column), "
        "column. Changed, it holds for new files from the next start; left away, a table that is "
        "there keeps its own.",
    )
    target_file_size: Size = Field(
        default=128 * 2**20,
        description="How large a data file shall become.",
        json_schema_extra={"default": "128MiB"},
    )
    properties: dict[str, PlainText] = Field(
        default_factory=dict, description="Iceberg table properties, set when the table is made."
    )

    @property
    def identifier(self) -> str:
        """`catalog.database.table`."""
        return f"{self.catalog}.{self.database}.{self.table}"


class Batch(Model):
    """When a batch is committed: at whichever limit comes first."""

    max_interval: PositiveDuration = Field(
        default=timedelta(minutes=1),
        description="The longest time between two commits.",
        json_schema_extra={"default": "1min"},
    )
    max_rows: Count = Field(default=5_000_000, description="The most rows of one commit.")
    max_bytes: Size | None = Field(default=None, description="The most bytes of one commit.")


class LakeTable(Model):
    """One topic, landed."""

    kind: Literal["lake_table"] = Field(description="lake_table")
    name: Name = Field(description="The writer's name; its commits and checkpoints carry it.")
    source: KafkaSource = Field(description="The topic to read.")
    hygiene: LakeHygiene = Field(
        default_factory=LakeHygiene, description="What makes a record good."
    )
    table: Target = Field(description="The table to write.")
    batch: Batch = Field(default_factory=Batch, description="When a batch is committed.")
    schema_evolution: Literal["none", "add_columns", "widen"] = Field(
        default="none",
        description="Which changes of the schema the table follows by itself, also while the "
        "writer runs: none; new fields, and renames by alias (add_columns); also wider types and "
        "fields that may now be null (widen).",
    )
    on_incompatible_schema: Literal["stop", "quarantine"] = Field(
        default="stop",
        description="What to do when the schema becomes one that the table cannot follow: stop "
        "and name the changes, or go on with the schema before, and keep in the quarantine what "
        "does not fit that.",
    )
    keep: tuple[Literal["key", "headers"], ...] = Field(
        default=(),
        description="What the table keeps of each record beside its columns: key, headers. They land "
        "byte for byte in the column __record__, which applications do not see, and a replay into a "
        "topic gives them back.",
    )
    overrides: Overrides = Field(default_factory=dict, description=OVERRIDES_DOC)

    @property
    def quarantine(self) -> QuarantineTopic | None:
        """Where bad records go, None where they are not kept."""
        return self.hygiene.quarantine_topic(self.source)
