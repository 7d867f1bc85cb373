"""What a task has to know of a lake table: everything looked up, nothing left to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.quarantine import quarantine_settings
from headrace.landing import topic_values
from headrace.schema.avro import load_avro

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.bulk import ProducerSettings
    from headrace.landing.topic_values import Values
    from headrace.schema.model import Record


@dataclass(frozen=True, slots=True)
class LandingPlan:
    """One lake writer, as its tasks work for it. `quarantine` is a topic and how to produce to it."""

    writer: str
    topic: str
    properties: Mapping[str, str]
    region: str | None
    values: Values
    quarantine: tuple[str, ProducerSettings] | None
    keep: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # Properties may hold a password.
        return f"LandingPlan({self.writer})"


def schema_of(workspace: Workspace, table: LoadedLakeTable) -> Record:
    """Return the schema of a table's records as its author has it now, in a file or a registry."""
    if table.schema_file is not None:
        return load_avro(table.schema_file)
    return values_of(workspace, table).schema


def values_of(workspace: Workspace, table: LoadedLakeTable, schema: Record | None = None) -> Values:
    """Return how a table's records are read, by that schema or the one that there is."""
    config = table.config
    return topic_values.values_of(
        workspace,
        config.source,
        schema or table.schema,
        config.hygiene,
        f"lake table {config.name}",
    )


def landing_plan(workspace: Workspace, table: LoadedLakeTable, how: Values) -> LandingPlan:
    """Return the plan of a table's writer; its quarantine is made where it is missing."""
    config = table.config
    source = workspace.cluster(config.source.cluster)
    quarantine = None
    if (named := config.quarantine) is not None:
        kafka = KafkaCluster(workspace.cluster(named.cluster))
        taken = KafkaCluster(source).settings(config.source.topic)
        quarantine = named.topic, quarantine_settings(kafka, named.topic, taken)
    return LandingPlan(
        writer=config.name,
        topic=config.source.topic,
        properties=source.client_properties(),
        region=source.region,
        values=how,
        quarantine=quarantine,
        keep=config.keep,
    )
