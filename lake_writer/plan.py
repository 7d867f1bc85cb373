"""What a task has to know of a lake table: everything looked up, nothing left to ask."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.config.hygiene import FutureSkew, Hygiene, Required
from headrace.errors import Terminal
from headrace.kafka.bulk import LARGEST_BATCH_BYTES, Way, properties_of
from headrace.kafka.cluster import KafkaCluster
from headrace.records.raw import RAW_SCHEMA
from headrace.registry.address import RegistryAddress
from headrace.registry.client import Registry
from headrace.schema.avro import parse_avro

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.hygiene import LakeHygiene
    from headrace.config.kafka_parts import QuarantineTopic
    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace import Workspace
    from headrace.records.decoding import Format
    from headrace.schema.model import Record

# A record that only just fitted into the source gets headers, and has to fit again.
QUARANTINE_MARGIN_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Values:
    """How the records of a table's topic are read. `id` tells one from another in a process."""

    id: str
    format: Format
    schema: Record
    hygiene: Hygiene
    registry: RegistryAddress | None


@dataclass(frozen=True, slots=True)
class LandingPlan:
    """One lake writer, as its tasks work for it. `quarantine` is a topic and the way to it."""

    writer: str
    topic: str
    properties: Mapping[str, str]
    region: str | None
    values: Values
    quarantine: tuple[str, Way] | None

    def __repr__(self) -> str:
        # Properties may hold a password.
        return f"LandingPlan({self.writer})"


def values_of(workspace: Workspace, table: LoadedLakeTable) -> Values:
    """Return how a table's records are read; a registry is asked for the schema that is there."""
    source = table.config.source
    url = source.registry_url
    registry = None if url is None else RegistryAddress(url, workspace.state_dir / "registry")
    schema = RAW_SCHEMA if source.format == "raw" else table.schema
    if schema is None:
        subject = source.registry_subject
        if registry is None or subject is None:
            raise Terminal(f"lake table {table.config.name} has no schema")
        schema = parse_avro(Registry(registry).latest(subject).text, f"subject {subject}")
    hygiene = _hygiene(table.config.hygiene)
    return Values(uuid.uuid4().hex, source.format, schema, hygiene, registry)


def landing_plan(workspace: Workspace, table: LoadedLakeTable, values: Values) -> LandingPlan:
    """Return the plan of a table's writer; its quarantine is made where it is missing."""
    config = table.config
    source = workspace.cluster(config.source.cluster)
    room = KafkaCluster(source).largest_batch_bytes(config.source.topic)
    place = config.quarantine
    return LandingPlan(
        writer=config.name,
        topic=config.source.topic,
        properties=source.client_properties(),
        region=source.region,
        values=values,
        quarantine=None if place is None else _quarantine(workspace, place, room),
    )


def _quarantine(workspace: Workspace, place: QuarantineTopic, room: int) -> tuple[str, Way]:
    cluster = workspace.cluster(place.cluster)
    kafka = KafkaCluster(cluster)
    kafka.ensure_topic(
        place.topic, settings={"max.message.bytes": str(room + QUARANTINE_MARGIN_BYTES)}
    )
    batch_bytes = min(LARGEST_BATCH_BYTES, kafka.largest_batch_bytes(place.topic))
    return place.topic, Way(properties_of(cluster.client_properties()), "lz4", batch_bytes)


def _hygiene(own: LakeHygiene) -> Hygiene:
    """Return a table's rules as the rules that records are checked by."""
    skew = own.future_skew
    return Hygiene(
        required=Required(columns=own.required_columns) if own.required_columns else None,
        max_future_skew=None if skew is None else FutureSkew(limit=skew),
        on_bad_record=own.on_bad_record,
    )
