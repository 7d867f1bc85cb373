"""A router that runs in a thread while a test does something to its topic, and what its ledger says."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from headrace.embedded.process import wait_until
from headrace.kafka.cluster import quiet
from headrace.signals import Drain
from router.ledger_file import LedgerFile
from router.state import stream_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from router.ledger import Counts, Stretch
    from router.state import StreamState
    from tests.integration.pipelines import Pipelines

LIMIT_S = 90.0


class LiveRouter:
    """A stream's router under way."""

    def __init__(self, pipelines: Pipelines, spark: SparkSession, path: Path, drain: Drain) -> None:
        router = pipelines.router(path)
        router.prepare()
        self.problem: Exception | None = None
        self.counts: Mapping[str, Counts] = {}

        def run() -> None:
            try:
                self.counts = router.run(spark, drain, once=False)
            except Exception as problem:  # noqa: BLE001 - told to the thread that waits
                self.problem = problem

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> None:
        """Wait for its end, and raise why; once."""
        self._thread.join(LIMIT_S)
        assert self.ended()
        problem, self.problem = self.problem, None
        if problem is not None:
            raise problem


@contextlib.contextmanager
def live(pipelines: Pipelines, spark: SparkSession, path: Path) -> Iterator[LiveRouter]:
    """Run a stream until the end of the block, then drain it."""
    with Drain() as drain:
        running = LiveRouter(pipelines, spark, path, drain)
        try:
            yield running
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            assert wait_until(running.ended, LIMIT_S)
    running.end()


def state_of(pipelines: Pipelines, stream: str) -> StreamState:
    return stream_state(pipelines.workspace, stream)


def ledger_of(pipelines: Pipelines, stream: str, name: str = "out") -> LedgerFile:
    return LedgerFile(state_of(pipelines, stream).ledger(name), is_ours=False)


def places_of(pipelines: Pipelines, stream: str, name: str = "out") -> dict[int, int]:
    """Return a member's next offsets; none while it has not begun."""
    file = state_of(pipelines, stream).ledger(name)
    return ledger_of(pipelines, stream, name).positions if file.exists() else {}


def stretch_of(pipelines: Pipelines, stream: str, name: str = "out", partition: int = 0) -> Stretch:
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
