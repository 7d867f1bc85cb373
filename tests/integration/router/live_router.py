"""A router under way, and what its ledger says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from headrace.kafka.settings import quiet
from router.ledger.file import LedgerFile
from router.ledger.state import stream_state
from tests.integration.live import Live, until_drained
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import SparkSession

    from router.ledger.entries import LedgerStretch
    from router.ledger.state import StreamState
    from tests.integration.pipelines import Pipelines


def live(pipelines: Pipelines, spark: SparkSession, path: Path) -> AbstractContextManager[Live]:
    """Run a stream until the end of the block, then drain it."""
    router = pipelines.router(path)
    router.prepare()
    return until_drained(lambda drain: router.run(spark, drain, once=False))


def state_of(pipelines: Pipelines, stream: str) -> StreamState:
    return stream_state(pipelines.workspace, stream)


def ledger_of(pipelines: Pipelines, stream: str, name: str = "out") -> LedgerFile:
    return LedgerFile(state_of(pipelines, stream).ledger(name), is_ours=False)


def places_of(pipelines: Pipelines, stream: str, name: str = "out") -> dict[int, int]:
    """Return a member's next offsets; none while it has not begun."""
    file = state_of(pipelines, stream).ledger(name)
    return ledger_of(pipelines, stream, name).positions if file.exists() else {}


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
