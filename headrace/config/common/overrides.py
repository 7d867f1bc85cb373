"""What a deployment does differently from the file that it shares with the others."""

from __future__ import annotations

from pydantic import Field

from headrace.config.common.kafka_parts import StartingOffsets
from headrace.config.common.model import Model, optional
from headrace.config.common.scalars import Count, Duration, KeyName, PlainText, Size, Text, Topic

OVERRIDES_DOC = "What the deployment with that name, such as a region, does differently."


class SourceOverride(Model):
    """Another topic to read."""

    cluster: KeyName | None = optional("A cluster of headrace.yaml.")
    topic: Topic | None = optional("The topic to read.")
    starting_offsets: StartingOffsets | None = optional("Where the very first start begins.")


class SparkOverride(Model):
    """Spark settings that override the workspace's."""

    conf: dict[str, PlainText] = Field(default_factory=dict, description="Spark settings.")


class Resources(Model):
    """How much of the machine the driver uses; on a cluster, how much each executor uses."""

    memory: Size | None = optional("Memory of the JVM, such as 4GiB.")
    cores: Count | None = optional("How many tasks run at a time.")


class Override(Model):
    """What one deployment does differently."""

    source: SourceOverride = Field(
        default_factory=SourceOverride, description="Another cluster or topic to read."
    )
    region: Text | None = optional(
        "The region of records without a header `region`; by default the cluster's."
    )
    spark: SparkOverride = Field(default_factory=SparkOverride, description="Spark settings.")
    resources: Resources = Field(default_factory=Resources, description="Memory and cores.")
    trigger: Duration | None = optional("Time between batches.")


Overrides = dict[KeyName, Override]
