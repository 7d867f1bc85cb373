"""Routers and brokers that are killed while events come in: no event is lost, each is accounted for."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pytest
import structlog

from headrace.config.load import load_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.kafka.cluster import KafkaCluster
from tests.broker_cluster import BrokerCluster
from tests.faults.router_process import (
    ROUTER,
    RouterProcess,
    Routers,
    Traffic,
    are_gone,
    ids_of,
    ledger_sums,
    workers,
)
from tests.integration.pipelines import Pipelines, event
from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

TOPIC = "killed"
SEED = 20_260_301
EACH_BAD = 1_000
log = structlog.get_logger(__name__)


def value(number: int) -> bytes:
    """Return an event; every thousandth cannot be read."""
    if number % EACH_BAD == 7:
        return f'{{"id": {number}, "at": "no time"}}'.encode()
    return event(number, "start" if number % 2 else "stop")


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker", BrokerOptions(heap_mb=512)) as running:
        yield running


@dataclass
class Killing:
    """A stream with two outputs, and those who are killed."""

    path: Path
    routers: Routers
    traffic: Traffic
    each: int
    chance: random.Random
    orphans: list[psutil.Process]
    running: RouterProcess | None = None

    def router(self) -> RouterProcess:
        """Return a router that runs; where the last one was killed, another one."""
        if self.running is None or self.running.ended():
            self.running = self.routers.start(self.path)
        return self.running

    def kill_driver(self) -> None:
        """Kill it at some moment: while it starts, in a batch, or between two."""
        running = self.router()
        self._meet(running, self.chance.randrange(6))
        self.orphans += running.kill()
        self.running = None
        log.info("killed a router", after=running.batches())

    def kill_worker(self) -> None:
        """Kill a process that does its tasks; the router gets over it."""
        running = self.router()
        self._meet(running, 1 + self.chance.randrange(3))
        # Where the one that forks them was the last to be killed, there are none for a while.
        running.wait_for(lambda: bool(workers(running)))
        found = workers(running)
        with contextlib.suppress(psutil.NoSuchProcess):
            self.chance.choice(found).kill()
        self._goes_on(running)
        log.info("killed a worker", of=len(found))

    def kill_broker(self, broker: Broker) -> None:
        """Kill a broker under a router that works; the router gets over it."""
        running = self.router()
        self._meet(running, 1)
        broker.kill()
        broker.start()
        self._goes_on(running)
        log.info("the router went on behind a broker that was killed")

    def drain(self) -> None:
        """Let a router that runs end in order."""
        if self.running is not None:
            assert self.running.stop()[0] == 0, self.running.said
            self.running = None

    def _meet(self, running: RouterProcess, batches: int) -> None:
        """Wait for some batches, and for some moment after them."""
        begun = running.batches()
        self.traffic.allow(self.each)
        # Where nothing comes any more, the first will do.
        running.wait_for(
            lambda: (
                running.batches() - begun >= (min(batches, 1) if self.traffic.rests() else batches)
            )
        )
        # The moment is told by how much has come meanwhile.
        enough = self.traffic.sent + self.chance.randrange(self.each // 4)
        running.wait_for(lambda: self.traffic.sent >= min(enough, self.traffic.allowed))

    def _goes_on(self, running: RouterProcess) -> None:
        before = running.batches()
        self.traffic.allow(self.each // 2)
        running.wait_for(lambda: running.batches() > before)


def stream(bootstrap_servers: str, root: Path, **more: object) -> tuple[Pipelines, Path]:
    servers = {"bootstrap_servers": bootstrap_servers}
    spark = {"master": "local[2]", "conf": {"spark.driver.memory": "768m"}}
    workspace = {"clusters": {"fronting": servers, "consumer": servers}, "spark": spark}
    (root / "headrace.yaml").write_text(json.dumps(workspace))
    pipelines = Pipelines(load_workspace(root))
    pipelines.make_topic(TOPIC, 4)
    outputs: list[dict[str, object]] = [
        {"name": "starts", "filter": "kind = 'start'"},
        {"name": "ids", "project": ["id"]},
    ]
    return pipelines, pipelines.stream(TOPIC, outputs, **more)


def kill_again_and_again(
    bootstrap_servers: str,
    root: Path,
    number: int,
    faults: Sequence[Callable[[Killing], None]],
    per_s: int,
    isolation: str,
) -> None:
    began = time.monotonic()
    pipelines, path = stream(bootstrap_servers, root, isolation=isolation)
    at_once = max(100, per_s // 20)
    source = pipelines.workspace.cluster("fronting")
    with (
        Routers() as routers,
        Traffic(source, TOPIC, value, number, at_once, at_once / per_s) as traffic,
    ):
        each = number // (2 * len(faults))
        killing = Killing(path, routers, traffic, each, random.Random(SEED), [])
        for fault in faults:
            fault(killing)
        log.info("all kills are done", sent=traffic.sent)
        traffic.join()
        killing.drain()
        last = routers.start(path, "--once")
        assert last.end(LONG_LIMIT_S)[0] == 0, last.said
    assert_all_is_there(pipelines, number)
    assert_the_audit_agrees(path, number)
    assert are_gone(killing.orphans), killing.orphans
    log.info("counted", lost=0, doubled=0, wall_s=round(time.monotonic() - began))


def assert_all_is_there(pipelines: Pipelines, number: int) -> None:
    """Count what is in the topics, each record once, and hold the ledgers against it."""
    source, out = (pipelines.workspace.cluster(name) for name in ("fronting", "consumer"))
    all_ids = np.arange(number)
    bad = all_ids[all_ids % EACH_BAD == 7]
    good = all_ids[all_ids % EACH_BAD != 7]
    expected = {"starts": good[good % 2 == 1], "ids": good}
    spans = KafkaCluster(source).offsets(TOPIC)
    assert np.array_equal(np.sort(ids_of(source, TOPIC)), all_ids)
    for name, ids in expected.items():
        found = ids_of(out, f"{TOPIC}.{name}")
        assert np.array_equal(np.sort(found), ids), name
        sums = ledger_sums(out, TOPIC, name)
        assert sums.places == spans
        assert (sums.read, sums.written, sums.quarantined) == (number, len(ids), len(bad))
        assert (sums.filtered, sums.dropped) == (number - len(ids) - len(bad), 0)
        assert (sums.lost, sums.absent) == (0, 0)
    kept = ids_of(source, f"{TOPIC}.quarantine")
    assert np.array_equal(np.sort(kept), bad)
    sums = ledger_sums(source, TOPIC, "quarantine")
    assert sums.places == spans
    assert (sums.read, sums.quarantined, sums.filtered) == (number, len(bad), len(good))


def assert_the_audit_agrees(path: Path, number: int) -> None:
    """Ask `router audit`, as a user would."""
    command = [str(ROUTER), "audit", "-c", str(path), "-o", "json"]
    asked = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    assert asked.returncode == 0, asked.stdout + asked.stderr
    audit = json.loads(asked.stdout)
    assert audit["ok"]
    for output in audit["outputs"]:
        assert output["findings"] == []
        assert sum(one["read"] for one in output["partitions"]) == number
        assert sum(one["lag"] for one in output["partitions"]) == 0


def test_killed_twice_under_traffic(own_broker: Broker, tmp_path: Path) -> None:
    faults = [
        Killing.kill_driver,
        lambda killing: killing.kill_broker(own_broker),
        Killing.kill_worker,
    ]
    servers = own_broker.bootstrap_servers
    kill_again_and_again(servers, tmp_path, 100_000, faults, per_s=4_000, isolation="output")


@pytest.mark.long
@pytest.mark.parametrize("isolation", ["output", "stream"])
def test_twenty_kills_and_five_of_brokers_during_three_million_events(
    tmp_path: Path, isolation: str
) -> None:
    """Three brokers; drivers and workers are killed ten times each."""
    chance = random.Random(SEED)
    with BrokerCluster(tmp_path) as cluster:

        def kill_broker(killing: Killing) -> None:
            killing.kill_broker(chance.choice(list(cluster.brokers.values())))

        faults = [*[Killing.kill_driver, Killing.kill_worker] * 10, *[kill_broker] * 5]
        chance.shuffle(faults)
        servers = cluster.bootstrap_servers
        kill_again_and_again(servers, tmp_path, 3_000_000, faults, 20_000, isolation)
