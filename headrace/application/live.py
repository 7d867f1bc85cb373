"""A source of an application, live: topics, decoded as the lake writer decodes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.application.live_source import NAME, LiveSource, topics_of
from headrace.jvm.relay import RELAY
from headrace.jvm.sizes import tasks_of
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.positions import to_json
from headrace.landing.topic_values import values_of
from headrace.schema.avro import to_avro

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.application.ahead_of_time import Ahead
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from headrace.jvm.relay import RelayAddress


@dataclass(frozen=True, slots=True)
class LiveStart:
    """How a run opens its sources.

    With `once` the streams end with what is there now. `fresh` says that the query's checkpoint has
    no batch yet: then its first one is of a bounded size, too. By the `relay`, tasks on other machines
    keep small files on the driver's disk.
    """

    spark: SparkSession
    workspace: Workspace
    app: LoadedApp
    once: bool = False
    fresh: bool = False
    relay: RelayAddress | None = None


def live_stream(opening: LiveStart, name: str, ahead: Ahead | None = None) -> DataFrame:
    """Return the records of a source's topics; a bad one is rejected as its hygiene says.

    With `ahead`, so is one whose own time is too far ahead.
    """
    opening.spark.dataSource.register(LiveSource)
    reader = opening.spark.readStream.format(NAME)
    return reader.options(**live_options(opening, name, ahead)).load()


def live_options(opening: LiveStart, name: str, ahead: Ahead | None) -> dict[str, str]:
    """Return what tells Spark's processes which topics to read, and how."""
    workspace, app = opening.workspace, opening.app
    source = topics_of(app, name)
    kafka = KafkaCluster(workspace.cluster(source.cluster))
    ends = {topic: kafka.ends(topic).next_offsets for topic in source.topics}
    reader = f"{app.config.name}.{name}"
    schema = values_of(workspace, source, app.schemas.get(name), source.hygiene, reader).schema
    options = {
        "workspace": str(workspace.root),
        "app": str(app.path),
        "source": name,
        "schema": json.dumps(to_avro(schema)),
        "fresh": "true" if opening.fresh else "false",
        "tasks": str(tasks_of(opening.spark, workspace.spark.master)),
    }
    if opening.relay is not None:
        options[RELAY] = opening.relay.to_json()
    if ahead is not None:
        options["ahead"] = ahead.to_json()
    if opening.once:
        options["until"] = json.dumps(to_json(ends))
    return options
