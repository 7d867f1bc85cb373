"""Routers and brokers that are killed while events come in: no event is lost, each is accounted for."""

from __future__ import annotations

import json
import random
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
import structlog

from headrace.config.load import load_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.kafka.cluster import KafkaCluster
from router.ledger.state import stream_state
from tests.faults.router_process import (
    ROUTER,
    Routers,
    Traffic,
    are_gone,
    ids_of,
    ledger_sums,
)
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import psutil

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
    broker: Broker
    traffic: Traffic
    each: int
    chance: random.Random
    orphans: list[psutil.Process]

    def kill_router(self) -> None:
        """Start it, and kill it at some moment: while it starts, in a batch, or between two."""
        running = self.routers.start(self.path)
        self.traffic.allow(self.each)
        batches, more = self.chance.randrange(6), self.chance.randrange(self.each // 4)
        # Where nothing comes any more, the first will do.
        running.wait_for(
            lambda: running.batches() >= (min(batches, 1) if self.traffic.rests() else batches)
        )
        # And at some moment after it, told by how much has come meanwhile.
        enough = min(self.traffic.sent + more, self.traffic.allowed)
        running.wait_for(lambda: self.traffic.sent >= enough)
        self.orphans += running.kill()
        log.info("killed a router", after=running.batches())

    def kill_broker(self) -> None:
        """Kill the broker under a router that works; the router gets over it."""
        running = self.routers.start(self.path)
        self.traffic.allow(self.each // 2)
        running.wait_for(lambda: running.batches() > 0)
        self.broker.kill()
        self.broker.start()
        before = running.batches()
        self.traffic.allow(self.each // 2)
        running.wait_for(lambda: running.batches() > before)
        assert running.stop()[0] == 0, running.said
        log.info("the router went on behind a broker that was killed")


def stream(broker: Broker, root: Path, **more: object) -> tuple[Pipelines, Path]:
    servers = {"bootstrap_servers": broker.bootstrap_servers}
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
    broker: Broker, root: Path, number: int, kills: int, per_s: int, isolation: str
) -> None:
    began = time.monotonic()
    pipelines, path = stream(broker, root, isolation=isolation)
    at_once = max(100, per_s // 20)
    source = pipelines.workspace.cluster("fronting")
    with (
        Routers() as routers,
        Traffic(source, TOPIC, value, number, at_once, at_once / per_s) as traffic,
    ):
        each = number // (kills + 2)
        killing = Killing(path, routers, broker, traffic, each, random.Random(SEED), [])
        for _ in range(kills // 2):
            killing.kill_router()
        killing.kill_broker()
        for _ in range(kills - kills // 2):
            killing.kill_router()
        log.info("all kills are done", sent=traffic.sent)
        traffic.join()
        last = routers.start(path, "--once")
        assert last.end()[0] == 0, last.said
    doubles = assert_all_is_there(pipelines, number)
    assert_the_audit_agrees(path, number)
    assert are_gone(killing.orphans), killing.orphans
    log.info("counted", lost=0, twice=doubles, wall_s=round(time.monotonic() - began))


def assert_all_is_there(pipelines: Pipelines, number: int) -> dict[str, int]:
    """Count what is in the topics, hold the ledgers against it; returns how many came twice."""
    source, out = (pipelines.workspace.cluster(name) for name in ("fronting", "consumer"))
    all_ids = np.arange(number)
    bad = all_ids[all_ids % EACH_BAD == 7]
    good = all_ids[all_ids % EACH_BAD != 7]
    expected = {"starts": good[good % 2 == 1], "ids": good}
    spans = KafkaCluster(source).offsets(TOPIC)
    assert np.array_equal(np.sort(ids_of(source, TOPIC)), all_ids)
    state = stream_state(pipelines.workspace, TOPIC)
    doubles: dict[str, int] = {}
    for name, ids in expected.items():
        found = ids_of(out, f"{TOPIC}.{name}")
        assert np.array_equal(np.unique(found), ids), name
        doubles[name] = len(found) - len(ids)
        sums = ledger_sums(state.ledger(name))
        assert sums.places == spans
        assert (sums.read, sums.written, sums.quarantined) == (number, len(ids), len(bad))
        assert (sums.filtered, sums.dropped) == (number - len(ids) - len(bad), 0)
        assert (sums.lost, sums.absent) == (0, 0)
    kept = ids_of(source, f"{TOPIC}.quarantine")
    assert np.array_equal(np.unique(kept), bad)
    doubles["quarantine"] = len(kept) - len(bad)
    sums = ledger_sums(state.ledger("quarantine"))
    assert sums.places == spans
    assert (sums.read, sums.quarantined, sums.filtered) == (number, len(bad), len(good))
    return doubles


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
    kill_again_and_again(own_broker, tmp_path, 100_000, 2, per_s=4_000, isolation="output")


@pytest.mark.long
@pytest.mark.parametrize("isolation", ["output", "stream"])
def test_killed_ten_times_during_three_million_events(
    own_broker: Broker, tmp_path: Path, isolation: str
) -> None:
    kill_again_and_again(own_broker, tmp_path, 3_000_000, 10, per_s=20_000, isolation=isolation)
