"""A router that is asked to end under traffic, and one whose broker dies: nothing is lost."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.embedded.process import wait_until
from headrace.errors import Transient
from headrace.kafka.cluster import KafkaCluster
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Cluster

# A live router under traffic, for a minute; its restarts in short are among the integration tests.
pytestmark = pytest.mark.long

ROUTER = Path(sys.executable).parent / "router"
TOPIC = "faults"


def end_of(cluster: Cluster, topic: str) -> int:
    """Return how many records a topic holds."""
    return sum(1 for _ in KafkaCluster(cluster).records(topic))


def routed(pipelines: Pipelines, topic: str) -> Counter[int]:
    return Counter(json.loads(one.value or b"")["id"] for one in pipelines.seen(f"{topic}.out"))


class Traffic:
    """Sends events without an end until told to stop; knows how many arrived."""

    def __init__(self, pipelines: Pipelines, topic: str) -> None:
        self.sent = 0
        self._stop = threading.Event()
        self._pipelines = pipelines
        self._topic = topic
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(LIMIT_S)

    def _send(self) -> None:
        while not self._stop.is_set():
            numbers = range(self.sent, self.sent + 200)
            self._pipelines.send(self._topic, map(event, numbers))
            self.sent = numbers.stop
            self._stop.wait(0.05)


def test_drained_under_traffic_it_neither_loses_nor_doubles(
    spark: SparkSession,
    make_workspace: Callable[[], Path],
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    topic = unique("drained")
    pipelines = Pipelines(load_workspace(make_workspace()))
    pipelines.make_topic(topic, 2)
    path = pipelines.stream(topic, [{"name": "out"}])
    with (tmp_path / "said").open("w") as said, Traffic(pipelines, topic) as traffic:
        command = [str(ROUTER), "start", "-c", str(path), "--format", "json"]
        router = subprocess.Popen(
            command, cwd=path.parent, stdout=subprocess.PIPE, stderr=said, text=True
        )
        try:
            out = pipelines.workspace.cluster("consumer")
            came = wait_until(lambda: f"{topic}.out" in KafkaCluster(out).topics(), LIMIT_S)
            assert came
            # A few batches, so that it is asked in the middle of its work.
            assert wait_until(lambda: batches(tmp_path / "said") >= 6, LIMIT_S)
            router.send_signal(signal.SIGTERM)
            answer, _ = router.communicate(timeout=LIMIT_S)
        finally:
            router.kill()
            router.wait(LIMIT_S)
    assert router.returncode == 0, (tmp_path / "said").read_text()
    counts = json.loads(answer)["outputs"]["out"]
    assert counts["read"] == counts["written"] == end_of(out, f"{topic}.out") < traffic.sent
    assert pipelines.route(spark, path)["out"].written == traffic.sent - counts["written"]
    assert routed(pipelines, topic) == Counter(range(traffic.sent))


def batches(log: Path) -> int:
    return log.read_text().count("batch routed")


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker", BrokerOptions(heap_mb=384, partitions=2)) as running:
        yield running


def test_a_broker_that_dies_and_comes_back_costs_no_record(
    spark: SparkSession, own_broker: Broker, tmp_path: Path
) -> None:
    clusters = {
        name: {"bootstrap_servers": own_broker.bootstrap_servers}
        for name in ("fronting", "consumer")
    }
    (tmp_path / "headrace.yaml").write_text(json.dumps({"clusters": clusters}))
    pipelines = Pipelines(load_workspace(tmp_path))
    pipelines.make_topic(TOPIC, 2)
    pipelines.make_topic(f"{TOPIC}.out", 2)
    number = 60_000
    pipelines.send(TOPIC, map(event, range(number)))
    path = pipelines.stream(TOPIC, [{"name": "out"}], hygiene={"on_bad_record": "drop"})
    out = pipelines.workspace.cluster("consumer")

    def route() -> None:
        # It gets over it, or says so and the next run goes on.
        with contextlib.suppress(Transient):
            pipelines.route(spark, path)

    # The broker is started by the thread that stays: its life is tied to that one's.
    routing = threading.Thread(target=route)
    routing.start()
    assert wait_until(lambda: end_of(out, f"{TOPIC}.out") > 0, LIMIT_S)
    own_broker.kill()
    own_broker.start()
    routing.join(LIMIT_S)
    assert not routing.is_alive()
    pipelines.route(spark, path)
    assert routed(pipelines, TOPIC).keys() == set(range(number))
