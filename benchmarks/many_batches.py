"""Whether a router that runs for long grows or slows down: `python -m benchmarks.many_batches`.

Single records are sent one after another, each when the one before it has been routed, so every
batch has one record. Memory is that of the router and of all its processes (each page once), after
a tenth of the batches and after all. The time of a batch is from sending its record to reading it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from confluent_kafka import Consumer, Producer

from benchmarks.arena import HEADRACE_YAML, console_script
from benchmarks.freshness import SCHEMA, START_LIMIT_S, TOPIC
from benchmarks.router_latency import OUT, STREAM
from headrace.config.workspace.workspace import Cluster
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 2**20


def main() -> None:
    """Measure and report."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--batches", type=int, default=100_000)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Broker(root / "broker", BrokerOptions(partitions=1)) as broker:
            print(json.dumps(measure(root, broker, given.batches)))


def measure(root: Path, broker: Broker, batches: int) -> dict[str, object]:
    """Return memory after a tenth and after all batches, and how long early and late ones took."""
    text = HEADRACE_YAML.format(bootstrap=broker.bootstrap_servers)
    (root / "headrace.yaml").write_text(text, encoding="utf-8")
    (root / "event.avsc").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (root / "events.yaml").write_text(STREAM.format(trigger_s=0), encoding="utf-8")
    cluster = Cluster("here", broker.bootstrap_servers, None, {})
    for topic in (TOPIC, OUT):
        KafkaCluster(cluster).ensure_topic(topic, 1)
    command = [console_script("router"), "start", "-c", "events.yaml"]
    router = subprocess.Popen(
        command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    each = max(1, batches // 10)
    took_s: list[float] = []
    early: dict[str, float] = {}
    try:
        for number, one_s in enumerate(_routed(broker.bootstrap_servers), start=1):
            took_s.append(one_s)
            if number == each:
                early = _memory_mib(router.pid)
            if number == batches:
                break
        late = _memory_mib(router.pid)
    finally:
        router.terminate()
        router.wait(START_LIMIT_S)
    window = min(1000, each)
    return {
        "batches": batches,
        "early_ms": round(1000 * statistics.median(took_s[window : 2 * window]), 1),
        "late_ms": round(1000 * statistics.median(took_s[-window:]), 1),
        "early_mib": early,
        "late_mib": late,
    }


def _routed(bootstrap: str) -> Iterator[float]:
    """Send a record and wait for it, again and again; yield how long each took."""
    settings = quiet({"bootstrap.servers": bootstrap})
    producer = Producer({**settings, "linger.ms": 0})
    consumer = Consumer(
        {**settings, "group.id": "many", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 5}
    )
    consumer.subscribe([OUT])
    limit_s = START_LIMIT_S
    try:
        while True:
            sent_at_s = time.monotonic()
            producer.produce(TOPIC, b'{"id":1}')
            producer.flush()
            while not consumer.consume(1, 0.05):
                if time.monotonic() - sent_at_s > limit_s:
                    raise TimeoutError("a record was not routed")
            yield time.monotonic() - sent_at_s
    finally:
        consumer.close()


def _memory_mib(pid: int) -> dict[str, float]:
    """Return the memory of the driver, of its JVM, and of all Python processes below that."""
    found = dict.fromkeys(("driver", "jvm", "workers"), 0.0)
    top = psutil.Process(pid)
    for one in (top, *top.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            kind = "jvm" if one.name() == "java" else "driver" if one.pid == pid else "workers"
            found[kind] += one.memory_full_info().pss / MIB
    return {kind: round(size, 1) for kind, size in found.items()}


if __name__ == "__main__":
    main()
