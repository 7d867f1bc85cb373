"""A router under way, and what its ledger says."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.settings import quiet
from router.ledger.places import entries_of
from router.ledger.topic import LedgerTopic, MemberPlaces, members_in
from router.state import stream_state
from tests.integration.live import Live, until_drained
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import SparkSession

    from router.ledger.entries import LedgerEntry, LedgerStretch
    from router.ledger.places import Place
    from router.state import StreamState
    from tests.integration.pipelines import Pipelines


def live(pipelines: Pipelines, spark: SparkSession, path: Path) -> AbstractContextManager[Live]:
    """Run a stream until the end of the block, then drain it."""
    router = pipelines.router(path)
    router.prepare()
    return until_drained(lambda drain: router.run(spark, drain, once=False))


def state_of(pipelines: Pipelines, stream: str) -> StreamState:
    return stream_state(pipelines.workspace, stream)


@dataclass(frozen=True, slots=True)
class LedgerNow:
    """What a member's ledger says by now: its places, and the batches that are left of it."""

    places: Mapping[int, Place]
    entries: Sequence[LedgerEntry]
    history: Mapping[int, Sequence[Place]]

    @property
    def positions(self) -> dict[int, int]:
        return {number: one.stretch.end_exclusive for number, one in self.places.items()}


def ledger_topic_of(pipelines: Pipelines, stream: str) -> LedgerTopic:
    """Return a stream's ledger; all clusters of the tests are one broker."""
    return LedgerTopic(KafkaCluster(pipelines.workspace.cluster("consumer")), stream)


def of_member(topic: LedgerTopic, name: str) -> list[MemberPlaces]:
    """Return what a ledger says of a member, whatever its target; by topics that were read."""
    members = members_in(topic.read()).items()
    return [
        one for held_as, own in members if held_as.startswith(f"{name} > ") for one in own.values()
    ]


def ledger_of(pipelines: Pipelines, stream: str, name: str = "out") -> LedgerNow:
    with contextlib.closing(ledger_topic_of(pipelines, stream)) as topic:
        known = of_member(topic, name)
    if not known:
        return LedgerNow({}, [], {})
    own = known[-1]
    entries = [one for number, places in own.history.items() for one in entries_of(number, places)]
    return LedgerNow(own.places, entries, own.history)


def places_of(pipelines: Pipelines, stream: str, name: str = "out") -> dict[int, int]:
    """Return a member's next offsets; none while it has not begun."""
    return ledger_of(pipelines, stream, name).positions


def stretch_of(
    pipelines: Pipelines, stream: str, name: str = "out", partition: int = 0
) -> LedgerStretch:
    """Return all that was done of a partition as one stretch."""
    found = [
        one.stretches[partition]
        for one in ledger_of(pipelines, stream, name).entries
        if partition in one.stretches
    ]
    whole = found[0]
    for one in found[1:]:
        assert one.start == whole.end_exclusive
        whole += one
    return whole


def delete_before(pipelines: Pipelines, topic: str, offset: int, partition: int = 0) -> None:
    """Delete a partition's records before an offset, as retention does."""
    admin = AdminClient(quiet(pipelines.workspace.cluster("fronting").client_properties()))
    place = TopicPartition(topic, partition, offset)
    admin.delete_records([place])[place].result(LIMIT_S)


def add_partitions(pipelines: Pipelines, topic: str, number: int) -> None:
    """Make a topic have so many partitions."""
    admin = AdminClient(quiet(pipelines.workspace.cluster("fronting").client_properties()))
    admin.create_partitions([NewPartitions(topic, number)])[topic].result(LIMIT_S)
