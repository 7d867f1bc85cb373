"""The parts of a config file that name Kafka topics."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from headrace.config.model import Model
from headrace.config.scalars import Duration, KeyName, PlainText, Text, Topic
from headrace.config.secret import Secret

Format = Literal["json", "avro", "raw"]
StartingOffsets = Literal["earliest", "latest"]


class Registry(Model):
    """Where a schema registry keeps a schema."""

    url: Secret = Field(description="The registry's address. Never shown: it may hold a password.")
    subject: Text = Field(description="The subject that the schema is registered under.")


class RegistrySchema(Model):
    """A schema that is kept in a registry."""

    registry: Registry = Field(description="The registry and the subject.")


def _schema_kind(value: object) -> str:
    return "registered" if isinstance(value, dict | RegistrySchema) else "file"


SchemaRef = Annotated[
    Annotated[Text, Tag("file")] | Annotated[RegistrySchema, Tag("registered")],
    Discriminator(_schema_kind),
]

SCHEMA_DOC = (
    "An Avro schema file, beside this file or under the workspace; or {registry: {url, subject}}. "
    "Format raw has none: its columns are the bytes `key` and `value`."
)


class KafkaSource(Model):
    """The topic that a stream or a lake table reads."""

    type: Literal["kafka"] = Field(description="kafka")
    cluster: KeyName = Field(description="A cluster of headrace.yaml.")
    topic: Topic = Field(description="The topic to read.")
    format: Format = Field(description="How the record's value is encoded.")
    schema_ref: SchemaRef | None = Field(default=None, alias="schema", description=SCHEMA_DOC)
    starting_offsets: StartingOffsets = Field(
        default="earliest", description="Where the very first start begins."
    )


class KafkaSink(Model):
    """A topic to write to."""

    type: Literal["kafka"] = Field(description="kafka")
    cluster: KeyName = Field(description="A cluster of headrace.yaml.")
    topic: Topic = Field(description="The topic to write.")
    format: Format = Field(description="How the record's value is encoded.")
    key: Text | None = Field(
        default=None, description="The column whose value becomes the record's key."
    )


class QuarantineTopic(Model):
    """Where records go that cannot be processed."""

    cluster: KeyName = Field(description="A cluster of headrace.yaml.")
    topic: Topic = Field(description="The topic; it must not be the source's.")


class Hygiene(Model):
    """What a record must be like, and what becomes of one that is not."""

    required: tuple[Text, ...] = Field(
        default=(), description="Columns that must be there and not null."
    )
    max_future_skew: Duration | None = Field(
        default=None, description="How far a record's timestamp may lie ahead of the clock."
    )
    on_bad_record: Literal["quarantine", "drop", "fail"] = Field(
        default="quarantine", description="What to do with a bad record."
    )
    quarantine: QuarantineTopic | None = Field(
        default=None,
        description="Where bad records go; by default `<source topic>.quarantine` on its cluster.",
    )

    def quarantine_topic(self, source: KafkaSource) -> QuarantineTopic | None:
        """Return where bad records of that source go, None where they are not kept."""
        if self.on_bad_record != "quarantine":
            return None
        return self.quarantine or QuarantineTopic(
            cluster=source.cluster, topic=f"{source.topic}.quarantine"
        )


class SourceOverride(Model):
    """Another place to read from."""

    cluster: KeyName | None = Field(default=None, description="A cluster of headrace.yaml.")
    topic: Topic | None = Field(default=None, description="The topic to read.")


class SparkOverride(Model):
    """Spark settings on top of the workspace's."""

    conf: dict[str, PlainText] = Field(default_factory=dict, description="Spark settings.")


class Override(Model):
    """What one deployment does differently."""

    source: SourceOverride = Field(
        default_factory=SourceOverride, description="Another cluster or topic to read."
    )
    spark: SparkOverride = Field(default_factory=SparkOverride, description="Spark settings.")
    trigger: Duration | None = Field(default=None, description="Time between batches.")


Overrides = dict[KeyName, Override]
OVERRIDES_DOC = "What a deployment of that name does differently."
