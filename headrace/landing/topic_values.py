"""How the records of a topic are read, everything looked up."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.contract import RAW_SCHEMA, ValueFormat
from headrace.errors import Terminal
from headrace.registry.client import shared
from headrace.schema.avro import parse_avro

if TYPE_CHECKING:
    from headrace.config.app.file import KafkaTopics
    from headrace.config.common.hygiene import LakeHygiene
    from headrace.config.common.kafka_parts import KafkaSource
    from headrace.config.workspace.workspace import Workspace
    from headrace.records.hygiene.rules import HygieneRules, Tombstones
    from headrace.registry.address import RegistryAddress
    from headrace.schema.model import Record


@dataclass(frozen=True, slots=True)
class Values:
    """How the records of a topic are read. `id` tells one from another in a process.

    `unfollowed` is a newer schema that is not followed: what only it has makes a record a bad one.
    """

    id: str
    format: ValueFormat
    schema: Record
    hygiene: HygieneRules
    registry: RegistryAddress | None
    tombstones: Tombstones | None = None
    unfollowed: Record | None = None


def values_of(
    workspace: Workspace,
    source: KafkaSource | KafkaTopics,
    schema: Record | None,
    hygiene: LakeHygiene,
    name: str,
) -> Values:
    """Return how a source's records are read; a registry is asked for the schema that is there."""
    found, registry = read_schema(workspace, source, schema, name)
    rules, tombstones = hygiene.as_rules(), hygiene.tombstones
    return Values(uuid.uuid4().hex, source.format, found, rules, registry, tombstones)


def read_schema(
    workspace: Workspace, source: KafkaSource | KafkaTopics, schema: Record | None, name: str
) -> tuple[Record, RegistryAddress | None]:
    """Return the schema that records are read as, and the registry that knows their writers'."""
    writers, subject = source.writers_registry, source.registry_subject
    folder = workspace.state_dir / "registry"
    registry = None if writers is None else writers.address(folder, subject)
    if source.format == "raw":
        return RAW_SCHEMA, registry
    if schema is not None:
        return schema, registry
    if registry is None or subject is None:
        raise Terminal(f"{name} has no schema")
    return parse_avro(shared(registry).latest(subject), f"subject {subject}"), registry
