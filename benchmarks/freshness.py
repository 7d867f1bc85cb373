"""How long a record takes to be seen in the table: `python -m benchmarks.freshness`.

Records are sent at a steady rate, each with the time at which it is sent, while `lake-writer start`
lands them every so many seconds. The table is looked at ten times a second, as a reader does that
waits for news; a record counts from when it was sent to when a look first finds it. What was sent
before the first commit is left out: it waited for the writer to start.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pyarrow.parquet as pq

from benchmarks.arena import HEADRACE_YAML, console_script
from headrace.config.load import load_workspace
from headrace.config.workspace.workspace import Cluster
from headrace.contract import INGESTION_TS
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import table_loader
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender

TOPIC = "events"
PARTITIONS = 4
LOOKS_A_SECOND = 10
SENDS_A_SECOND = 50
START_LIMIT_S = 180.0
ALLOWED_S = 2.0
SCHEMA = {"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}
TABLE = """\
kind: lake_table
name: events
source: {{type: kafka, cluster: here, topic: events, format: json, schema: event.avsc}}
hygiene: {{quarantine: {{cluster: here, topic: bad}}}}
table: {{catalog: lake, database: bench, table: events}}
batch: {{max_interval: {trigger_s}s}}
"""


class Steady:
    """Sends so many records a second, until the end of the block."""

    def __init__(self, cluster: Cluster, per_s: int) -> None:
        self._sender = Sender(cluster, TOPIC)
        self._each = max(1, per_s // SENDS_A_SECOND)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._sender.close()

    def _send(self) -> None:
        number = 0
        while not self._over.wait(1 / SENDS_A_SECOND):
            now_ms = time.time_ns() // 1_000_000
            for _ in range(self._each):
                self._sender.send(KafkaRecord(b'{"id":%d}' % number, timestamp_ms=now_ms))
                number += 1


class Looker:
    """Looks at the table, and keeps how old each record was when it was first seen."""

    def __init__(self, root: Path) -> None:
        self._load = table_loader(load_workspace(root), "lake.bench.events")
        self._known: set[str] = set()
        self.ages_s: list[float] = []

    def look(self) -> bool:
        """Look once; returns whether there was anything new."""
        table = self._load()
        seen_at_s = time.time()
        files = {task.file.file_path for task in table.scan().plan_files()} - self._known
        for place in files:
            column = pq.ParquetFile(urlparse(place).path).read([INGESTION_TS])["__metadata__"]
            times = column.combine_chunks().field("kafka_ingestion_ts").cast("int64")
            self.ages_s += (seen_at_s - times.to_numpy() / 1e6).tolist()
        self._known |= files
        return bool(files)


def main() -> None:
    """Measure and report."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seconds", type=float, default=120)
    asked.add_argument("--trigger", type=int, default=10, help="seconds between two commits")
    asked.add_argument("--per-second", type=int, default=5_000, help="records")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Broker(root / "broker", BrokerOptions(partitions=PARTITIONS)) as broker:
            ages_s = measure(root, broker, given)
    p50, p99, most = (float(np.quantile(ages_s, at)) for at in (0.5, 0.99, 1.0))
    print(f"{len(ages_s):,} records, a commit every {given.trigger} s")
    print(f"seen after: p50 {p50:.2f} s, p99 {p99:.2f} s, at most {most:.2f} s")
    allowed_s = given.trigger + ALLOWED_S
    print(json.dumps({"p99_s": round(p99, 3), "allowed_s": allowed_s, "held": p99 <= allowed_s}))


def measure(root: Path, broker: Broker, given: argparse.Namespace) -> list[float]:
    """Return how old each record was when it was seen."""
    text = HEADRACE_YAML.format(bootstrap=broker.bootstrap_servers)
    (root / "headrace.yaml").write_text(text, encoding="utf-8")
    (root / "event.avsc").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (root / "events.yaml").write_text(TABLE.format(trigger_s=given.trigger), encoding="utf-8")
    cluster = Cluster("here", broker.bootstrap_servers, None, {})
    KafkaCluster(cluster).ensure_topic(TOPIC, PARTITIONS)
    command = [console_script("lake-writer"), "start", "-c", "events.yaml"]
    writer = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL)
    try:
        with Steady(cluster, given.per_second):
            looker = begun(root)
            end_s = time.monotonic() + given.seconds
            while time.monotonic() < end_s:
                looker.look()
                time.sleep(1 / LOOKS_A_SECOND)
    finally:
        writer.terminate()
        writer.wait(START_LIMIT_S)
    return looker.ages_s


def begun(root: Path) -> Looker:
    """Wait for two commits, and forget what was in them: it waited for the writer to start."""
    catalog = root / ".headrace" / "catalog.db"
    looker: list[Looker] = []

    def has_table() -> bool:
        if not looker and catalog.exists():
            looker.append(Looker(root))
        try:
            return bool(looker) and looker[0].look()
        except Exception:  # noqa: BLE001 - no table yet, as each catalog tells it
            return False

    for _ in range(2):
        if not wait_until(has_table, START_LIMIT_S):
            message = "the lake writer committed nothing"
            raise SystemExit(message)
    looker[0].ages_s.clear()
    return looker[0]


if __name__ == "__main__":
    main()
