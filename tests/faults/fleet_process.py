"""`headrace up` over streams and tables of a test's own, the records they are given, and what came of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil
from confluent_kafka import Producer

from headrace.config.load import load_lake_table, load_stream, load_workspace
from headrace.config.stream.effective import effective
from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import table_loader
from headrace.kafka.cluster import KafkaCluster
from lake_writer.audit import audit as audit_table
from router.audit.audit import audit as audit_stream
from tests.end_to_end.commands import BIN
from tests.faults.router_process import ids_of, started_by
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

EVENT = {
    "type": "record",
    "name": "tv.Event",
    "fields": [{"name": "id", "type": "long"}, {"name": "kind", "type": "string"}],
}
PARTITIONS = 2
# Every so many records are of a kind that the streams leave out, and cannot be read.
LEFT_OUT = 5
BAD = 97


@dataclass
class Ground:
    """A workspace: streams by name, and tables that land what some of them read."""

    root: Path
    bootstrap_servers: str
    streams: Sequence[str]
    tables: Sequence[str]

    @property
    def workspace(self) -> Workspace:
        return load_workspace(self.root)

    def make(self) -> None:
        servers = {"bootstrap_servers": self.bootstrap_servers}
        catalog = {
            "type": "sql",
            "uri": "sqlite:///.headrace/catalog.db",
            "warehouse": ".headrace/warehouse",
        }
        spark = {"master": "local[2]", "conf": {"spark.driver.memory": "768m"}}
        whole = {"clusters": {"here": servers}, "catalogs": {"lake": catalog}, "spark": spark}
        self.write("headrace.yaml", whole)
        self.write("event.avsc", EVENT)
        for name in self.streams:
            KafkaCluster(self.workspace.cluster("here")).ensure_topic(f"{name}_raw", PARTITIONS)
            self.write(f"streams/{name}.yaml", self._stream(name))
        for name in self.tables:
            self.write(f"tables/{name}.yaml", self._table(name))

    def write(self, path: str, content: object) -> None:
        """Write a file of the workspace; YAML reads JSON."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(json.dumps(content), encoding="utf-8")

    def flaws(self, sent: Counter[str]) -> dict[str, str]:
        """Return what is wrong with any output, as readers of what is committed see it."""
        found: dict[str, str] = {}
        cluster = self.workspace.cluster("here")
        for name in self.streams:
            good = [one for one in range(sent[name]) if one % BAD]
            expected = Counter(one for one in good if one % LEFT_OUT)
            _compare(found, f"stream {name}", expected, ids_of(cluster, f"{name}_some").tolist())
        for name in self.tables:
            good = [one for one in range(sent[name]) if one % BAD]
            loaded = table_loader(self.workspace, f"lake.tv.{name}")()
            rows = loaded.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist()
            _compare(found, f"table {name}", Counter(good), rows)
        return found

    def are_audited(self) -> None:
        """Ask each stream's and each table's own audit."""
        workspace = self.workspace
        for name in self.streams:
            stream = load_stream(self.root / f"streams/{name}.yaml", workspace)
            assert audit_stream(workspace, effective(stream, workspace, None)).findings == []
        for name in self.tables:
            table = load_lake_table(self.root / f"tables/{name}.yaml", workspace)
            assert audit_table(workspace, table).ok

    def _source(self, name: str) -> dict[str, object]:
        schema = {"format": "json", "schema": "event.avsc"}
        return {"type": "kafka", "cluster": "here", "topic": f"{name}_raw", **schema}

    def _stream(self, name: str) -> dict[str, object]:
        sink = {"type": "kafka", "cluster": "here", "topic": f"{name}_some", "format": "json"}
        output = {"name": "some", "filter": "kind = 'kept'", "sink": sink}
        return {"kind": "stream", "name": name, "source": self._source(name), "outputs": [output]}

    def _table(self, name: str) -> dict[str, object]:
        bad = {"quarantine": {"cluster": "here", "topic": f"{name}_bad"}}
        return {
            "kind": "lake_table",
            "name": name,
            "source": self._source(name),
            "hygiene": bad,
            "table": {"catalog": "lake", "database": "tv", "table": name},
            "batch": {"max_interval": "1s"},
        }


def _compare(found: dict[str, str], what: str, expected: Counter[int], read: Sequence[int]) -> None:
    there = Counter(read)
    lost, more = expected - there, there - expected
    if lost or more:
        found[what] = f"lost {lost.total()}, doubled {more.total()}"


@dataclass
class Events:
    """Sends all streams records from a thread, each stream's with ids from 0 on."""

    bootstrap_servers: str
    names: Sequence[str]
    per_s: int
    sent: Counter[str] = field(default_factory=Counter)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Events:
        self._thread = threading.Thread(target=self._send)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Send no more; all that was sent has arrived when this returns."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(LIMIT_S)
            assert not self._thread.is_alive()
            self._thread = None

    def _send(self) -> None:
        producer = Producer(
            {"bootstrap.servers": self.bootstrap_servers, "enable.idempotence": True}
        )
        while not self._over.wait(0.05):
            for name in self.names:
                for _ in range(max(1, self.per_s // 20)):
                    number = self.sent[name]
                    producer.produce(f"{name}_raw", _value(number), partition=number % PARTITIONS)
                    self.sent[name] += 1
            producer.poll(0)
        assert producer.flush(LIMIT_S) == 0


def _value(number: int) -> bytes:
    if number % BAD == 0:
        return b'{"id": "none"}'
    kind = "kept" if number % LEFT_OUT else "left out"
    return b'{"id": %d, "kind": "%s"}' % (number, kind.encode())


class Up:
    """`headrace up`, its words in a file."""

    def __init__(self, ground: Ground, number: int) -> None:
        self._said = ground.root.parent / f"up-{number}.log"
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [str(BIN / "headrace"), "up", "--log-format", "json"],
                cwd=ground.root,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def said(self) -> str:
        return self._said.read_text()

    def batches(self) -> int:
        """How often anything was routed or landed."""
        return self.said.count("batch routed") + self.said.count("batch landed")

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for something that comes while it runs."""
        came = wait_until(lambda: condition() or self.process.poll() is not None, LIMIT_S)
        assert came, self.said[-4000:]
        assert self.process.poll() is None, self.said[-4000:]

    def workers(self) -> list[psutil.Process]:
        """The Python processes that do its tasks."""
        found = []
        for one in started_by(self):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "headrace.jvm.python_workers" in one.cmdline():
                    found.append(one)
        return found

    def kill(self) -> list[psutil.Process]:
        """End it as a crash would, without a word to its JVM; returns what it had started."""
        started = started_by(self)
        self.process.kill()
        self.process.wait()
        return started

    def stop(self) -> None:
        """Let it end in order."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(LIMIT_S) == 0, self.said[-4000:]

    def clear(self) -> None:
        """Leave nothing of it behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
