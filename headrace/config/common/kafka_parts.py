"""The parts of a config file that name Kafka topics."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from headrace.config.model import Model
from headrace.config.registries import RegistryAddress, RegistrySchema
from headrace.config.scalars import KeyName, Text, Topic

Format = Literal["json", "avro", "raw"]
StartingOffsets = Literal["earliest", "latest"]


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
REGISTRY_DOC = (
    "Format avro: where the schemas of writers are looked up. A schema of {registry: …} says so "
    "itself."
)


def registry_of(
    schema: str | RegistrySchema | None, own: RegistryAddress | None
) -> RegistryAddress | None:
    """Return where the schemas of writers are looked up, None where no registry is named."""
    if own is not None:
        return own
    return schema.registry if isinstance(schema, RegistrySchema) else None


def registry_subject(schema: str | RegistrySchema | None) -> str | None:
    """Return the subject that a schema is kept under, None where it is a file or there is none."""
    return schema.registry.subject if isinstance(schema, RegistrySchema) else None


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
    on_data_loss: Literal["fail", "skip"] = Field(
        default="fail",
        description="What to do when retention took records that were not read yet: stop and "
        "name the gap, or go on and keep the gap in the ledger.",
    )
    registry: RegistryAddress | None = Field(default=None, description=REGISTRY_DOC)

    @property
    def writers_registry(self) -> RegistryAddress | None:
        """Where the schemas of writers are looked up, None where no registry is named."""
        return registry_of(self.schema_ref, self.registry)

    @property
    def registry_subject(self) -> str | None:
        """The subject that the schema is kept under, None where it is a file or there is none."""
        return registry_subject(self.schema_ref)


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
