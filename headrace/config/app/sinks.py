"""Where an application's result goes, and what a row of it is to the sink."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from headrace.config.kafka_parts import KafkaSink
from headrace.config.model import Model
from headrace.config.partitioning import PartitionField
from headrace.config.scalars import KeyName, Text

TIME_COLUMN_DOC = (
    "The column of the result that says when a row belongs: a backfill emits the rows whose time"
    " lies in its period, and no other."
)


class IcebergSink(Model):
    """A table of results."""

    type: Literal["iceberg"] = Field(description="iceberg")
    catalog: KeyName = Field(description="A catalog of headrace.yaml.")
    database: Text = Field(description="The namespace; made if it is not there.")
    table: Text = Field(description="The table; made if it is not there.")
    mode: Literal["append", "upsert", "replace"] = Field(
        default="append",
        description="append: rows are added, each batch once. upsert: a row replaces the one with"
        " its key. replace: as append, and a backfill replaces the rows of its period in one"
        " commit.",
    )
    key: tuple[Text, ...] = Field(default=(), description="Mode upsert: the columns of the key.")
    version: Text | None = Field(
        default=None,
        description="Mode upsert: of two rows of a key the one with the greater value here stays.",
    )
    deleted: Text | None = Field(
        default=None,
        description="Mode upsert: a boolean column of the result, which the table does not get: a row"
        " where it is true takes the row of its key away.",
    )
    time_column: Text | None = Field(default=None, description=TIME_COLUMN_DOC)
    partition_by: tuple[PartitionField, ...] = Field(
        default=(), description="As in a lake table's file; for a table that is made."
    )

    @property
    def identifier(self) -> str:
        """`catalog.database.table`."""
        return f"{self.catalog}.{self.database}.{self.table}"

    @property
    def place(self) -> str:
        """Where a person finds the result."""
        return f"iceberg:{self.identifier}"


class TopicOfResults(KafkaSink):
    """A topic of results, at least once."""

    time_column: Text | None = Field(default=None, description=TIME_COLUMN_DOC)

    @property
    def place(self) -> str:
        """Where a person finds the result."""
        return f"kafka:{self.cluster}/{self.topic}"


class JsonlSink(Model):
    """A folder of JSON Lines files, each batch in files of its own."""

    type: Literal["jsonl"] = Field(description="jsonl")
    path: Text = Field(description="The folder, relative to the workspace.")
    time_column: Text | None = Field(default=None, description=TIME_COLUMN_DOC)

    @property
    def place(self) -> str:
        """Where a person finds the result."""
        return f"jsonl:{self.path}"


AppSink = Annotated[IcebergSink | TopicOfResults | JsonlSink, Field(discriminator="type")]
