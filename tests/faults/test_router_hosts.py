"""Two hosts and one stream: each record once, whoever of them was stopped, cut off or lost."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pytest

from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.ranges import RangeReader
from tests.faults.router_process import (
    RouterProcess,
    Routers,
    are_gone,
    ids_of,
    ledger_sums,
    workers,
)
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.embedded.broker import Broker

# Enough for a batch that can be met in its middle.
EVENTS = 300_000
TRIES = 100


@pytest.fixture
def routers() -> Iterator[Routers]:
    with Routers() as started:
        yield started


class Hosts:
    """The same stream's file on several hosts, which share nothing but the cluster."""

    def __init__(self, broker: Broker, folder: Path, topic: str, **more: object) -> None:
        self._broker = broker
        self._folder = folder
        self._more = more
        self.topic = topic
        self.paths = [self._host(name) for name in ("one", "other")]
        self.pipelines = Pipelines(load_workspace(self.paths[0].parent.parent))
        self.pipelines.make_topic(topic, 4)
        self.cluster = self.pipelines.workspace.cluster("consumer")
        self._kafka = KafkaCluster(self.cluster)
        self._reader = RangeReader(self._kafka.properties, "read_uncommitted")
        self.sent = 0

    def close(self) -> None:
        self._reader.close()

    def _host(self, name: str) -> Path:
        root = self._folder / name
        root.mkdir()
        servers = {"bootstrap_servers": self._broker.bootstrap_servers}
        spark = {"master": "local[2]", "conf": {"spark.driver.memory": "768m"}}
        workspace = {"clusters": {"fronting": servers, "consumer": servers}, "spark": spark}
        (root / "headrace.yaml").write_text(json.dumps(workspace))
        own = Pipelines(load_workspace(root))
        return own.stream(self.topic, [{"name": "out"}], isolation="stream", **self._more)

    def is_in_a_batch(self) -> bool:
        """Whether the target has records that are not committed."""
        topic = f"{self.topic}.out"
        if topic not in self._kafka.topics():
            return False
        committed = self._kafka.offsets(topic)
        return any(self._reader.span(topic, n).stop > span.stop for n, span in committed.items())

    def send(self, number: int) -> None:
        """Send so many events more."""
        self.pipelines.send(self.topic, map(event, range(self.sent, self.sent + number)))
        self.sent += number

    def stop_in_a_batch(self, router: RouterProcess) -> list[psutil.Process]:
        """Let a router's workers sleep in the middle of a batch; there is always one more."""
        for _ in range(TRIES):
            self.send(EVENTS // 10)
            if self.is_in_a_batch():
                asleep = workers(router)
                for one in asleep:
                    one.send_signal(signal.SIGSTOP)
                if asleep and self.is_in_a_batch():
                    return asleep
                # It was through with it just then.
                for one in asleep:
                    one.send_signal(signal.SIGCONT)
        raise AssertionError(router.said)

    def assert_each_is_there_once(self) -> None:
        number = self.sent
        found = np.sort(ids_of(self.cluster, f"{self.topic}.out"))
        assert np.array_equal(found, np.arange(number)), (len(found), number)
        for member in ("out", "quarantine"):
            sums = ledger_sums(self.cluster, self.topic, member)
            assert (sums.read, sums.lost, sums.absent) == (number, 0, 0)


@pytest.fixture
def hosts(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> Iterator[Hosts]:
    with contextlib.closing(Hosts(broker, tmp_path, unique("hosts"))) as found:
        yield found


def test_a_worker_that_slept_through_a_take_over_writes_nothing_and_its_router_is_told(
    hosts: Hosts, routers: Routers
) -> None:
    first = routers.start(hosts.paths[0])
    hosts.send(10)
    first.wait_for(lambda: first.batches() >= 2)
    asleep = hosts.stop_in_a_batch(first)
    try:
        second = routers.start(hosts.paths[1], "--once")
        code, _ = second.end(2 * LIMIT_S)
        assert code == 0, second.said
        hosts.assert_each_is_there_once()
    finally:
        for one in asleep:
            one.send_signal(signal.SIGCONT)
    assert wait_until(first.ended, LIMIT_S), first.said
    assert first.end()[0] == 1
    assert f"stream {hosts.topic}: another router has taken over" in first.said
    hosts.assert_each_is_there_once()


def test_the_machine_is_lost_in_the_middle_of_a_batch(hosts: Hosts, routers: Routers) -> None:
    first = routers.start(hosts.paths[0])
    hosts.send(EVENTS)
    first.wait_for(hosts.is_in_a_batch)
    everything = [psutil.Process(first.pid), *psutil.Process(first.pid).children(recursive=True)]
    for one in everything:
        if one.is_running():
            one.kill()
    first.end()
    assert are_gone(everything)
    shutil.rmtree(hosts.paths[0].parent.parent)
    hosts.send(10)
    second = routers.start(hosts.paths[1], "--once")
    code, _ = second.end(2 * LIMIT_S)
    assert code == 0, second.said
    hosts.assert_each_is_there_once()


def test_who_is_to_leave_others_alone_does_not_start(hosts: Hosts, routers: Routers) -> None:
    first = routers.start(hosts.paths[0])
    hosts.send(10)
    first.wait_for(lambda: first.batches() >= 2)
    polite = json.loads(hosts.paths[1].read_text()) | {"on_conflict": "refuse"}
    hosts.paths[1].write_text(json.dumps(polite))
    second = routers.start(hosts.paths[1])
    code, _ = second.end(2 * LIMIT_S)
    assert code == 1
    assert "another router runs out (host" in second.said
    hosts.send(10)
    first.wait_for(lambda: first.batches() >= 4)
    assert first.stop()[0] == 0, first.said
    hosts.assert_each_is_there_once()
