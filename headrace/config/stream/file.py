"""`kind: stream`: one topic in, filtered and projected to one or more outputs."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import ConfigDict, Field

from headrace.config.common.for_each import FOR_EACH_DOC, ForEach, source_is_whole
from headrace.config.common.hygiene import Hygiene
from headrace.config.common.kafka_parts import KafkaSource, QuarantineTopic, StartingOffsets
from headrace.config.common.model import Model, optional
from headrace.config.common.overrides import OVERRIDES_DOC, Overrides
from headrace.config.common.scalars import Duration, Name, Text
from headrace.config.stream.sinks import OutputSink

Delivery = Literal["exactly_once", "at_least_once"]
DELIVERY_DOC = (
    "How records reach a Kafka topic. `exactly_once`: in transactions, which consumers have to read "
    "with `isolation.level=read_committed`. `at_least_once`: without transactions; records of a "
    "batch that is repeated after a crash are there twice."
)


class Output(Model):
    """An output of a stream."""

    name: Name = Field(description="The output's name, unique in the stream.")
    filter: Text | None = optional("A Spark SQL condition; records for which it is true pass.")
    project: tuple[Text, ...] | None = Field(
        default=None,
        min_length=1,
        description="Columns and Spark SQL expressions with an alias. By default all columns.",
    )
    delivery: Delivery | None = optional(f"{DELIVERY_DOC} By default as the stream has it.")
    starting_offsets: StartingOffsets | None = optional(
        "Where this output begins if it has never run; by default as the source says."
    )
    sink: OutputSink = Field(description="The sink of the records.")


class Stream(Model):
    """A topic that is routed to outputs."""

    model_config = ConfigDict(json_schema_extra=source_is_whole)

    kind: Literal["stream"] = Field(description="stream")
    name: Name = Field(description="The stream's name; checkpoints and consumer groups carry it.")
    for_each: ForEach | None = optional(FOR_EACH_DOC)
    source: KafkaSource = Field(description="The topic to read.")
    hygiene: Hygiene = Field(default_factory=Hygiene, description="The rules for a good record.")
    outputs: tuple[Output, ...] = Field(min_length=1, description="At least one output.")
    isolation: Literal["output", "stream"] = Field(
        default="output", description="One job per output, or one for the whole stream."
    )
    delivery: Delivery = Field(default="exactly_once", description=DELIVERY_DOC)
    on_conflict: Literal["take_over", "refuse"] = Field(
        default="take_over",
        description="What a router does that starts while another one, on this host or another, runs "
        "the same outputs: take them over, and the other ends; or refuse to start.",
    )
    trigger: Duration = Field(
        default=timedelta(seconds=1),
        description="Time between the starts of two batches. If a batch takes longer, the next one starts "
        "at once.",
    )
    overrides: Overrides = Field(default_factory=dict, description=OVERRIDES_DOC)

    @property
    def quarantine(self) -> QuarantineTopic | None:
        """Where rejected records go, None where none are stored."""
        return self.hygiene.quarantine_topic(self.source)
