"""The parts of a config file that name Kafka topics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from headrace.config.common.model import Model, optional
from headrace.config.common.registries import RegistryConfig, RegistrySchema
from headrace.config.common.scalars import KeyName, Text, Topic

Format = Literal["json", "avro", "raw"]
StartingOffsets = Literal["earliest", "latest"]


SchemaRef = Annotated[
    Annotated[Text, Tag("file")] | Annotated[RegistrySchema, Tag("registered")],
    Discriminator(
        lambda value: "registered" if isinstance(value, dict | RegistrySchema) else "file"
    ),
]

SCHEMA_DOC = (
    "An Avro schema file, beside this file or under the workspace; or {registry: {url, "
    "subject}}. Format raw has no schema: its columns are the bytes `key` and `value`."
)
REGISTRY_DOC = (
    "Format avro: the registry that has the schemas of the records. Not needed if the "
    "schema is {registry: …}."
)


class KafkaRecords(Model):
    """Records of Kafka that are read, and how their values are decoded."""

    type: Literal["kafka"] = Field(description="kafka")
    cluster: KeyName = Field(description="A cluster of headrace.yaml.")
    format: Format = Field(description="How the record's value is encoded.")
    schema_ref: SchemaRef | None = Field(default=None, alias="schema", description=SCHEMA_DOC)
    registry: RegistryConfig | None = optional(REGISTRY_DOC)
    starting_offsets: StartingOffsets = Field(
        default="earliest", description="Where the very first start begins."
    )

    @property
    def writers_registry(self) -> RegistryConfig | None:
        """Where the schemas of writers are looked up, None where no registry is named."""
        schema = self.schema_ref
        return self.registry or (schema.registry if isinstance(schema, RegistrySchema) else None)

    @property
    def registry_subject(self) -> str | None:
        """The subject of the schema, None where it is a file or there is none."""
        schema = self.schema_ref
        return schema.registry.subject if isinstance(schema, RegistrySchema) else None


def _without_required(schema: dict[str, Any]) -> None:
    """Leave it to the whole file's JSON Schema whether they are needed."""
    schema["required"] = [one for one in schema["required"] if one not in {"cluster", "topic"}]


class KafkaSource(KafkaRecords):
    """The topic that a stream or a lake table reads."""

    model_config = ConfigDict(json_schema_extra=_without_required)

    topic: Topic = Field(description="The topic to read.")
    on_data_loss: Literal["fail", "skip"] = Field(
        default="fail",
        description="What to do if retention removed records that were not read yet. fail: stop and "
        "name the gap. skip: continue and record the gap.",
    )


class KafkaSink(Model):
    """A topic to write to."""

    type: Literal["kafka"] = Field(description="kafka")
    cluster: KeyName = Field(description="A cluster of headrace.yaml.")
    topic: Topic = Field(description="The topic to write.")
    format: Format = Field(description="How the record's value is encoded.")
    key: Text | None = optional("The column whose value becomes the record's key.")


class QuarantineTopic(Model):
    """The topic for records that cannot be processed."""

    cluster: KeyName = Field(description="A cluster of headrace.yaml.")
    topic: Topic = Field(description="The topic; it must not be the source's.")
