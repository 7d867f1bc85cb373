"""Routers as processes: who may run beside whom, how one ends, and what it gets over."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.config.load import load_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.kafka.cluster import KafkaCluster
from tests.faults.router_process import Routers, are_gone, ledger_sums
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# A record that does not arrive is given up after a minute; then a drain ends.
DRAIN_LIMIT_S = 90.0


@pytest.fixture
def routers() -> Iterator[Routers]:
    with Routers() as started:
        yield started


@pytest.fixture
def consumers(tmp_path: Path) -> Iterator[Broker]:
    """A cluster of the outputs' own."""
    with Broker(tmp_path / "broker", BrokerOptions(heap_mb=384, partitions=2)) as running:
        yield running


def read(pipelines: Pipelines, topic: str, name: str) -> int:
    cluster = pipelines.workspace.cluster("consumer")
    if f"headrace.{topic}.ledger" not in KafkaCluster(cluster).topics():
        return 0
    return ledger_sums(cluster, topic, name).read


def written(pipelines: Pipelines, topic: str, cluster: str = "consumer") -> int:
    kafka = KafkaCluster(pipelines.workspace.cluster(cluster))
    return sum(1 for _ in kafka.records(topic))


def test_outputs_side_by_side_and_none_of_them_twice(
    routers: Routers, make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    topic = unique("beside")
    pipelines = Pipelines(load_workspace(make_workspace()))
    pipelines.make_topic(topic, 2)
    path = pipelines.stream(topic, [{"name": "a"}, {"name": "b"}])
    one, other = (routers.start(path, "--output", name) for name in ("a", "b"))
    pipelines.send(topic, map(event, range(1_000)))
    for running, name in ((one, "a"), (other, "b")):
        running.wait_for(lambda name=name: read(pipelines, topic, name) == 1_000)  # type: ignore[misc]  # a default binds the loop's value
    second = routers.start(path)
    code, out = second.end()
    error = json.loads(out)["error"]
    assert (code, error["exit_code"], error["kind"]) == (1, 1, "AlreadyRunning")
    holders = {"a": one.pid, "b": other.pid}
    told = [
        f"error: output {name} of stream {topic} already runs (pid {pid})"
        for name, pid in holders.items()
    ]
    assert any(one in second.said for one in told), second.said
    # Ctrl-C in a terminal: everybody in the group hears it, and it ends in order.
    os.killpg(one.pid, signal.SIGINT)
    code, answer = one.end()
    assert code == 0, one.said
    assert json.loads(answer)["outputs"]["a"]["written"] == 1_000
    # Its JVM is gone: it says so, and ends.
    jvm = [child for child in psutil.Process(other.pid).children() if "java" in child.name()]
    jvm[0].kill()
    assert other.end()[0] == 1
    assert "Spark's JVM ended" in other.said
    assert written(pipelines, f"{topic}.a") == written(pipelines, f"{topic}.b") == 1_000


def away_stream(
    consumers: Broker, make_workspace: Callable[[], Path], topic: str
) -> tuple[Pipelines, Path]:
    """Return a stream whose output goes to a cluster of its own."""
    root = make_workspace()
    file = root / "headrace.yaml"
    lines = file.read_text().splitlines()
    own = f'  consumer: {{bootstrap_servers: "{consumers.bootstrap_servers}"}}'
    file.write_text("\n".join(own if "consumer:" in line else line for line in lines))
    pipelines = Pipelines(load_workspace(root))
    pipelines.make_topic(topic, 2)
    outputs: list[dict[str, object]] = [
        {"name": "away"},
        {"name": "here", "sink": {"cluster": "fronting"}},
    ]
    return pipelines, pipelines.stream(topic, outputs)


@pytest.mark.long
def test_a_cluster_that_is_away_for_a_minute(
    routers: Routers,
    consumers: Broker,
    make_workspace: Callable[[], Path],
    unique: Callable[[str], str],
) -> None:
    topic = unique("away")
    pipelines, path = away_stream(consumers, make_workspace, topic)
    pipelines.send(topic, map(event, range(1_000)))
    running = routers.start(path)
    running.wait_for(lambda: read(pipelines, topic, "away") == 1_000)
    consumers.kill()
    pipelines.send(topic, map(event, range(1_000, 2_000)))
    # The other output does not notice.
    running.wait_for(lambda: read(pipelines, topic, "here") == 2_000)
    # Long enough that its records were given up, and it was started again without a cluster.
    running.wait_for(lambda: running.said.count("a job is restarted") > 1)
    assert read(pipelines, topic, "away") == 1_000
    consumers.start()
    running.wait_for(lambda: read(pipelines, topic, "away") == 2_000)
    assert running.stop()[0] == 0, running.said
    assert "Traceback" not in running.said
    # At least once: what was not acknowledged may have arrived.
    ids = [json.loads(one.value or b"")["id"] for one in pipelines.seen(f"{topic}.away")]
    assert set(ids) == set(range(2_000))


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 1), (signal.SIGINT, 130)])
def test_asked_to_end_while_its_records_do_not_arrive(
    routers: Routers,
    consumers: Broker,
    make_workspace: Callable[[], Path],
    unique: Callable[[str], str],
    number: signal.Signals,
    code: int,
) -> None:
    """A drain has an end, and Ctrl-C twice does not wait for it."""
    topic = unique("frozen")
    pipelines, path = away_stream(consumers, make_workspace, topic)
    pipelines.send(topic, map(event, range(1_000)))
    running = routers.start(path)
    running.wait_for(lambda: read(pipelines, topic, "away") == 1_000)
    broker = psutil.Process(consumers.pid)
    broker.suspend()
    try:
        pipelines.send(topic, map(event, range(1_000, 2_000)))
        running.wait_for(lambda: read(pipelines, topic, "here") == 2_000)
        children = psutil.Process(running.pid).children(recursive=True)
        if number == signal.SIGINT:
            os.killpg(running.pid, number)
            running.wait_for(lambda: "stopping:" in running.said)
            os.killpg(running.pid, number)
        else:
            running.process.send_signal(number)
        limit_s = DRAIN_LIMIT_S if number == signal.SIGTERM else LIMIT_S / 6
        assert running.end(limit_s)[0] == code, running.said
    finally:
        broker.resume()
    assert "Traceback" not in running.said
    assert are_gone(children)
    last = routers.start(path, "--once")
    assert last.end()[0] == 0, last.said
    ids = [json.loads(one.value or b"")["id"] for one in pipelines.seen(f"{topic}.away")]
    assert set(ids) == set(range(2_000))
