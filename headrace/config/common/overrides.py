"""What a deployment does differently from the file that it shares with the others."""

from __future__ import annotations

from pydantic import Field

from headrace.config.kafka_parts import StartingOffsets
from headrace.config.model import Model
from headrace.config.scalars import Count, Duration, KeyName, PlainText, Size, Text, Topic

OVERRIDES_DOC = "What a deployment of that name, such as a region, does differently."


class SourceOverride(Model):
    """Another place to read from."""

    cluster: KeyName | None = Field(default=None, description="A cluster of headrace.yaml.")
    topic: Topic | None = Field(default=None, description="The topic to read.")
    starting_offsets: StartingOffsets | None = Field(
        default=None, description="Where the very first start begins."
    )


class SparkOverride(Model):
    """Spark settings on top of the workspace's."""

    conf: dict[str, PlainText] = Field(default_factory=dict, description="Spark settings.")


class Resources(Model):
    """How much of a machine is used; on a cluster, of each executor's."""

    memory: Size | None = Field(default=None, description="Memory of the JVM, such as 4GiB.")
    cores: Count | None = Field(default=None, description="How many tasks run at a time.")


class Override(Model):
    """What one deployment does differently."""

    source: SourceOverride = Field(
        default_factory=SourceOverride, description="Another cluster or topic to read."
    )
    region: Text | None = Field(
        default=None,
        description="The region of records that do not carry one; by default the cluster's.",
    )
    spark: SparkOverride = Field(default_factory=SparkOverride, description="Spark settings.")
    resources: Resources = Field(default_factory=Resources, description="Memory and cores.")
    trigger: Duration | None = Field(default=None, description="Time between batches.")


Overrides = dict[KeyName, Override]
