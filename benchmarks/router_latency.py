"""How long a record takes through the router: `python -m benchmarks.router_latency`.

Records are sent at a steady rate, each with the time at which it is sent, while `router start`
routes them. A reader of the output (`read_committed`) looks at the clock when it is given one. What
was sent before the first record came out is left out: it waited for the router to start. The CPU
time is that of the router and all its processes, in that time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from confluent_kafka import Consumer

from benchmarks.arena import HEADRACE_YAML, console_script
from benchmarks.freshness import PARTITIONS, SCHEMA, START_LIMIT_S, TOPIC, Steady
from headrace.config.workspace.workspace import Cluster
from headrace.contract import ORIGIN
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.settings import quiet

OUT = "routed"
STREAM = """\
kind: stream
name: events
source: {{type: kafka, cluster: here, topic: events, format: json, schema: event.avsc}}
hygiene: {{on_bad_record: drop}}
trigger: {trigger_s}s
outputs:
  - name: all
    sink: {{type: kafka, cluster: here, topic: routed, format: json}}
"""


def main() -> None:
    """Measure and report."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seconds", type=float, default=60)
    asked.add_argument("--trigger", type=float, default=0, help="seconds between two batches")
    asked.add_argument("--per-second", type=int, default=5_000, help="records")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Broker(root / "broker", BrokerOptions(partitions=PARTITIONS)) as broker:
            ages_s, cores = measure(root, broker, given)
    p50, p99, most = (float(np.quantile(ages_s, at)) for at in (0.5, 0.99, 1.0))
    print(
        f"{len(ages_s):,} records, a batch every {given.trigger} s, {given.per_second:,} records/s"
    )
    print(f"read after: p50 {p50:.3f} s, p99 {p99:.3f} s, at most {most:.3f} s; {cores:.2f} cores")
    print(json.dumps({"p50_s": p50, "p99_s": p99, "cores": cores}))


def measure(root: Path, broker: Broker, given: argparse.Namespace) -> tuple[list[float], float]:
    """Return how old each record was when it was read, and how many cores the router kept busy."""
    text = HEADRACE_YAML.format(bootstrap=broker.bootstrap_servers)
    (root / "headrace.yaml").write_text(text, encoding="utf-8")
    (root / "event.avsc").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (root / "events.yaml").write_text(STREAM.format(trigger_s=given.trigger), encoding="utf-8")
    cluster = Cluster("here", broker.bootstrap_servers, None, {})
    for topic in (TOPIC, OUT):
        KafkaCluster(cluster).ensure_topic(topic, PARTITIONS)
    command = [console_script("router"), "start", "-c", "events.yaml"]
    router = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL)
    consumer = Consumer(
        {
            **quiet({"bootstrap.servers": broker.bootstrap_servers}),
            "group.id": "latency",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 5,
        }
    )
    consumer.subscribe([OUT])
    try:
        with Steady(cluster, given.per_second):
            begin_s = _first(consumer)
            began_cpu_s, began_at_s = _cpu_s(router.pid), time.monotonic()
            ages_s = _ages(consumer, begin_s, given.seconds)
            cores = (_cpu_s(router.pid) - began_cpu_s) / (time.monotonic() - began_at_s)
    finally:
        consumer.close()
        router.terminate()
        router.wait(START_LIMIT_S)
    return ages_s, cores


def _first(consumer: Consumer) -> float:
    """Wait for the first record, and a second more; return when that was."""
    deadline = time.monotonic() + START_LIMIT_S
    while not consumer.consume(1_000, 0.1):
        if time.monotonic() > deadline:
            raise TimeoutError("the router sent nothing")
    return time.time() + 1


def _ages(consumer: Consumer, begin_s: float, seconds: float) -> list[float]:
    ages_s: list[float] = []
    end_s = begin_s + seconds
    while time.time() < end_s:
        for message in consumer.consume(1_000, 0.01):
            origin = dict(message.headers() or ()).get(ORIGIN) or b"//0"
            text = origin if isinstance(origin, str) else origin.decode()
            sent_ms = int(text.rsplit("/", 1)[1])
            if sent_ms >= begin_s * 1000:
                ages_s.append(time.time() - sent_ms / 1000)
    return ages_s


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a process and of all below it that have not ended."""
    whole = 0.0
    for one in (top := psutil.Process(pid), *top.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            used = one.cpu_times()
            whole += used.user + used.system
    return whole


if __name__ == "__main__":
    main()
