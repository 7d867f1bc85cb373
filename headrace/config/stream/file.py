"""`kind: stream`: one topic in, filtered and projected to one or more outputs."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field

from headrace.config.hygiene import Hygiene
from headrace.config.kafka_parts import KafkaSource, QuarantineTopic, StartingOffsets
from headrace.config.model import Model
from headrace.config.overrides import OVERRIDES_DOC, Overrides
from headrace.config.scalars import Duration, Name, Text
from headrace.config.sinks import OutputSink


class Output(Model):
    """One way out of a stream."""

    name: Name = Field(description="The output's name, one of its kind in the stream.")
    filter: Text | None = Field(
        default=None, description="A Spark SQL condition; records for which it is true pass."
    )
    project: tuple[Text, ...] | None = Field(
        default=None,
        min_length=1,
        description="Columns and Spark SQL expressions with an alias. By default all columns.",
    )
    starting_offsets: StartingOffsets | None = Field(
        default=None,
        description="Where this output begins that never ran; by default as the source says.",
    )
    sink: OutputSink = Field(description="Where the records go.")


class Stream(Model):
    """One topic, routed."""

    kind: Literal["stream"] = Field(description="stream")
    name: Name = Field(description="The stream's name; checkpoints and consumer groups carry it.")
    source: KafkaSource = Field(description="The topic to read.")
    hygiene: Hygiene = Field(default_factory=Hygiene, description="What makes a record good.")
    outputs: tuple[Output, ...] = Field(min_length=1, description="At least one output.")
    isolation: Literal["output", "stream"] = Field(
        default="output", description="One job per output, or one for the whole stream."
    )
    trigger: Duration = Field(
        default=timedelta(seconds=1),
        description="Time between batches. One that takes longer is followed at once.",
    )
    overrides: Overrides = Field(default_factory=dict, description=OVERRIDES_DOC)

    @property
    def quarantine(self) -> QuarantineTopic | None:
        """Where bad records go, None where they are not kept."""
        return self.hygiene.quarantine_topic(self.source)
