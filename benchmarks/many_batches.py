"""Whether a router that runs for long grows or slows down: `python -m benchmarks.many_batches`.

Single records are sent all the time, a few milliseconds apart, to a stream with trigger 0 whose
outputs have a query each: every query does one small batch after another. Memory is that of the
router and of all its processes (each page once), after a tenth of the batches and after all. How
fast it is, is how long a thousand batches take: the second and the last; of these, also the CPU of
the router and of all its processes for a batch.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from confluent_kafka import Producer

from benchmarks.arena import HEADRACE_YAML, console_script
from benchmarks.freshness import SCHEMA, START_LIMIT_S, TOPIC
from headrace.config.workspace.workspace import Cluster
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

STREAM = """\
kind: stream
name: events
source: {type: kafka, cluster: here, topic: events, format: json, schema: event.avsc}
hygiene: {on_bad_record: drop}
trigger: 0s
outputs:
"""
OUTPUT = """\
  - name: out{number}
    sink: {{type: kafka, cluster: here, topic: routed{number}, format: json}}
"""
APART_S = 0.004
MIB = 2**20


def main() -> None:
    """Measure and report."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--batches", type=int, default=100_000)
    asked.add_argument("--outputs", type=int, default=4, help="each is a query of its own")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Broker(root / "broker", BrokerOptions(partitions=1)) as broker:
            print(json.dumps(measure(root, broker, given.batches, given.outputs)))


def measure(root: Path, broker: Broker, batches: int, outputs: int) -> dict[str, object]:
    """Return memory after a tenth and after all batches, and how long early and late ones took."""
    text = HEADRACE_YAML.format(bootstrap=broker.bootstrap_servers)
    (root / "headrace.yaml").write_text(text, encoding="utf-8")
    (root / "event.avsc").write_text(json.dumps(SCHEMA), encoding="utf-8")
    each = (OUTPUT.format(number=number) for number in range(outputs))
    (root / "events.yaml").write_text("".join((STREAM, *each)), encoding="utf-8")
    KafkaCluster(Cluster("here", broker.bootstrap_servers, None, {})).ensure_topic(TOPIC, 1)
    command = [console_script("router"), "start", "-c", "events.yaml"]
    router = subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True)
    tenth = max(1, batches // 10)
    window = min(1000, tenth)
    done_s: list[float] = []
    early: dict[str, float] = {}
    cpu_s = 0.0
    try:
        with _records(broker.bootstrap_servers):
            for line in router.stderr or ():
                if "batch routed" not in line:
                    continue
                done_s.append(time.monotonic())
                if len(done_s) == batches - window:
                    cpu_s = _cpu_s(router.pid)
                if len(done_s) % tenth == 0:
                    memory = _memory_mib(router.pid)
                    early = early or memory
                    print(f"{len(done_s)} batches: {json.dumps(memory)}", file=sys.stderr)
                if len(done_s) == batches:
                    break
            cpu_s = _cpu_s(router.pid) - cpu_s
            late = _memory_mib(router.pid)
    finally:
        router.terminate()
        router.communicate(timeout=START_LIMIT_S)
    return {
        "batches": len(done_s),
        "early_s": round(done_s[2 * window - 1] - done_s[window - 1], 1),
        "late_s": round(done_s[-1] - done_s[-1 - window], 1),
        "whole_s": round(done_s[-1] - done_s[0]),
        "late_cpu_ms_a_batch": round(1000 * cpu_s / window, 1),
        "early_mib": early,
        "late_mib": late,
    }


@contextlib.contextmanager
def _records(bootstrap: str) -> Iterator[None]:
    """Send single records until the end of `with`."""
    producer = Producer({**quiet({"bootstrap.servers": bootstrap}), "linger.ms": 0})
    ended = threading.Event()

    def send() -> None:
        while not ended.wait(APART_S):
            producer.produce(TOPIC, b'{"id":1}')
            producer.poll(0)

    sender = threading.Thread(target=send, name="records")
    sender.start()
    try:
        yield
    finally:
        ended.set()
        sender.join()


def _cpu_s(pid: int) -> float:
    """Return the CPU that the driver, its JVM and all processes below have used."""
    used = 0.0
    top = psutil.Process(pid)
    for one in (top, *top.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            used += times.user + times.system
    return used


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
