"""MirrorMaker's source connector: the peer of a router that can only copy the whole topic."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

from benchmarks.arena import PARTITIONS, RAW_TOPIC
from benchmarks.checks import require
from benchmarks.connect import RECORDS_PER_POLL, TASKS, Connector, connect_command, worker_topics
from benchmarks.events import FIELDS
from benchmarks.model import Run, WrongResult
from benchmarks.peer import said_work_s
from benchmarks.peers.per_core import PRODUCER

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Measured

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
LOOKED_AT = 1000


def mirror_maker(arena: Arena, folder: Path) -> Run:
    """Prepare a worker with MirrorSourceConnector; all records are copied, none is parsed."""
    connector = mirror_connector(arena.bootstrap_servers, RAW_TOPIC, folder.name)
    target = f"{folder.name}.{RAW_TOPIC}"
    arena.kafka.ensure_topic(target, PARTITIONS)
    watched = {
        "bootstrap_servers": arena.bootstrap_servers,
        "topic": target,
        "partitions": PARTITIONS,
    }

    def check(_: Measured) -> None:
        _mirrored(arena, target)

    return Run(
        connect_command("mirror_maker", arena, folder, connector, watched),
        check=check,
        work_s=said_work_s,
        clean_up=lambda: arena.drop_topics(
            target, offset_syncs(folder.name), *worker_topics(connector.name)
        ),
    )


def mirror_connector(bootstrap_servers: str, topic: str, name: str) -> Connector:
    """Return the connector that copies a topic to `NAME.TOPIC` of the same cluster."""
    settings = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": str(TASKS),
        "source.cluster.alias": name,
        "target.cluster.alias": _target_alias(name),
        "source.cluster.bootstrap.servers": bootstrap_servers,
        "target.cluster.bootstrap.servers": bootstrap_servers,
        "topics": topic,
        "source.consumer.max.poll.records": str(RECORDS_PER_POLL),
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "sync.topic.configs.enabled": "false",
        "key.converter": BYTES,
        "value.converter": BYTES,
    }
    # The loop's own: a peer differs by its work, not by the size of its batches.
    settings |= {f"producer.override.{key}": str(value) for key, value in PRODUCER.items()}
    return Connector(name, settings)


def offset_syncs(name: str) -> str:
    """Return the topic in which the connector keeps which offset became which."""
    return f"mm2-offset-syncs.{_target_alias(name)}.internal"


def _target_alias(name: str) -> str:
    return f"to-{name}"


def _mirrored(arena: Arena, topic: str) -> None:
    spans, wanted = arena.kafka.offsets(topic), arena.kafka.offsets(RAW_TOPIC)
    for partition, span in wanted.items():
        require(f"records in {topic}-{partition}", len(spans[partition]), len(span))
    for message in itertools.islice(arena.kafka.records(topic), LOOKED_AT):
        event = json.loads(message.value() or b"null")
        if tuple(event) != FIELDS:
            raise WrongResult(f"a record of {topic} is {event}")
