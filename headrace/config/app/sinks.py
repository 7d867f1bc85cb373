"""Where an application's result goes, and what a row of it is to the sink."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from headrace.config.common.kafka_parts import KafkaSink
from headrace.config.common.model import Model, NewTable, optional
from headrace.config.common.scalars import Text
from headrace.config.lake_table.partitioning import PartitionField

TIME_COLUMN_DOC = (
    "The column of the result with the time of a row. A backfill emits only rows whose "
    "time lies in its period."
)


class IcebergSink(NewTable):
    """A table of results."""

    type: Literal["iceberg"] = Field(description="iceberg")
    mode: Literal["append", "upsert", "replace"] = Field(
        default="append",
        description="append: rows are added, each batch once. upsert: a row replaces the row with its "
        "key. replace: like append, but a backfill replaces the rows of its period in one "
        "commit.",
    )
    key: tuple[Text, ...] = Field(default=(), description="Mode upsert: the columns of the key.")
    version: Text | None = optional(
        "Mode upsert: of two rows with the same key, the one with the greater value in this "
        "column stays."
    )
    deleted: Text | None = optional(
        "Mode upsert: a boolean column of the result. A row where it is true deletes the row "
        "with its key. The column is not stored."
    )
    time_column: Text | None = optional(TIME_COLUMN_DOC)
    partition_by: tuple[PartitionField, ...] = Field(
        default=(), description="As in a lake table's file. It applies when the table is created."
    )

    @property
    def location(self) -> str:
        """Where a person finds the result."""
        return f"iceberg:{self.identifier}"


class TopicOfResults(KafkaSink):
    """A topic of results, at least once."""

    time_column: Text | None = optional(TIME_COLUMN_DOC)

    @property
    def location(self) -> str:
        """Where a person finds the result."""
        return f"kafka:{self.cluster}/{self.topic}"


class JsonlSink(Model):
    """A folder of JSON Lines files. Each batch writes its own files."""

    type: Literal["jsonl"] = Field(description="jsonl")
    path: Text = Field(description="The folder, relative to the workspace.")
    time_column: Text | None = optional(TIME_COLUMN_DOC)

    @property
    def location(self) -> str:
        """Where a person finds the result."""
        return f"jsonl:{self.path}"


AppSink = Annotated[IcebergSink | TopicOfResults | JsonlSink, Field(discriminator="type")]
