"""Where an output of a stream may go: a topic, a table, a search index, another stream."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from headrace.config.common.kafka_parts import KafkaSink
from headrace.config.common.model import Model, optional
from headrace.config.common.registries import SinkRegistry
from headrace.config.common.scalars import SecretText, Text, refusal
from headrace.config.lake_table.file import Target

Compression = Literal["lz4", "zstd", "snappy", "gzip", "none"]
Origin = Literal["header", "none"]

ORIGIN_ID: Final = "topic-partition-offset"
_INDEX = re.compile(r"(?![-_+]|\.{1,2}$)[^A-Z\\/*?\"<>| ,#:\s]{1,255}")


ORIGIN_DOC: Final = (
    "Whether records get the header `headrace.origin`. `none` is faster, but no record then says "
    "which record it was made from."
)


def _index(value: str) -> str:
    if not _INDEX.fullmatch(value):
        lower = value.casefold()
        raise refusal(
            'the name of an index: no capitals, no spaces, none of \\ / * ? " < > | , # :',
            advice=f'did you mean "{lower}"?' if _INDEX.fullmatch(lower) else "",
        )
    return value


IndexName = Annotated[str, AfterValidator(_index)]


class TopicSink(KafkaSink):
    """A topic to write to."""

    schema_file: Text | None = Field(
        default=None,
        alias="schema",
        description="Format avro: an Avro schema file. By default it is made from the columns.",
    )
    registry: SinkRegistry | None = optional("Format avro: where the schema is registered.")
    compression: Compression = Field(
        default="lz4", description="How the producer compresses its batches."
    )
    origin: Origin = Field(default="header", description=ORIGIN_DOC)

    @property
    def subject(self) -> str:
        """The registry's subject of the schema that is written."""
        named = self.registry.subject if self.registry else None
        return named or f"{self.topic}-value"


class TableSink(Target):
    """An Iceberg table to append to."""

    type: Literal["iceberg"] = Field(description="iceberg")


class SearchSink(Model):
    """An index of Elasticsearch, OpenSearch, or another system with the same bulk requests."""

    type: Literal["search"] = Field(description="search")
    url: SecretText = Field(
        description="The node's address. Never shown, because it may hold a password."
    )
    api_key: SecretText | None = optional(
        "An API key, encoded as Elasticsearch gives it, in place of a user and a "
        "password in the url. Never shown."
    )
    ca: Text | None = optional(
        "A file with the CA certificates (PEM) that signed the node's certificate. By "
        "default those of the system."
    )
    index: IndexName = Field(description="The index to write.")
    id: Text = Field(
        default=ORIGIN_ID,
        description="A column whose value becomes the document's id. By default the id is made of "
        "topic, partition and offset, so a document that is written twice is stored once. "
        "Documents with the same id are replaced in the order of their partition.",
    )
    batch_rows: Annotated[int, Field(strict=True, gt=0, le=10_000)] = Field(
        default=1000, description="The most documents of one request."
    )

    @property
    def id_column(self) -> str | None:
        """The column whose value becomes the id, None where the record's offset does."""
        return None if self.id == ORIGIN_ID else self.id


class StreamSink(Model):
    """Another stream's source topic, in that stream's format."""

    type: Literal["stream"] = Field(description="stream")
    stream: Text = Field(
        description="The other stream's file, beside this file or under the workspace."
    )
    key: Text | None = optional("The column whose value becomes the record's key.")
    origin: Origin = Field(default="header", description=ORIGIN_DOC)


OutputSink = Annotated[TopicSink | TableSink | SearchSink | StreamSink, Field(discriminator="type")]
