"""What a soak runs on: streams and tables that come, change and go, their records, and their audits."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from benchmarks.fleet_load import Traffic
from headrace.config.load import load_lake_table, load_stream, load_workspace
from headrace.config.stream.effective import effective
from headrace.errors import HeadraceError
from headrace.iceberg.catalog import table_loader
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.settings import quiet
from lake_writer.audit import audit as audit_table
from router.audit.audit import audit as audit_stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.fleet_ground import Fleet

TABLE = """\
kind: lake_table
name: {name}
source: {{type: kafka, cluster: here, topic: {name}.in, format: json, schema: ../event.avsc}}
table: {{catalog: lake, database: soak, table: {name}}}
batch: {{max_interval: 5s}}
"""
COLUMNS = ("id", "id, id + 1 AS following")


class Ground:
    """A fleet whose streams come and go; the first of them land in tables, too."""

    def __init__(self, fleet: Fleet, tables: int) -> None:
        self.fleet = fleet
        self.streams = list(fleet.names)
        self.tables = fleet.names[:tables]
        self._columns: Counter[str] = Counter()
        self._partitions: dict[str, int] = {}
        self._made = 0
        self._admin = AdminClient(quiet({"bootstrap.servers": fleet.bootstrap_servers}))

    def make(self) -> None:
        """Write all files, and make all topics."""
        self.fleet.make()
        folder = self.fleet.root / "tables"
        folder.mkdir()
        for name in self.tables:
            (folder / f"{name}.yaml").write_text(TABLE.format(name=name), encoding="utf-8")

    def edit(self, name: str) -> None:
        """Give a stream's output one column more, or one less."""
        self._columns[name] += 1
        self.fleet.write(name, columns=COLUMNS[self._columns[name] % len(COLUMNS)])

    def widen(self, name: str) -> int:
        """Give a source topic a partition more; return how many it has."""
        has = self._partitions.get(name, self.fleet.partitions) + 1
        asked = self._admin.create_partitions([NewPartitions(f"{name}.in", has)])
        for answer in asked.values():
            answer.result()
        self._partitions[name] = has
        return has

    def add(self) -> str:
        """Make the topics and the file of one more stream."""
        name = f"x{self._made:04}"
        self._made += 1
        self.fleet.make_topics(name)
        self.fleet.write(name)
        self.streams.append(name)
        return name

    def remove(self, name: str) -> None:
        """Take a stream's file away."""
        (self.fleet.root / "streams" / f"{name}.yaml").unlink()
        self.streams.remove(name)

    def delete_topics(self, name: str) -> None:
        """Delete what a stream read and wrote."""
        asked = self._admin.delete_topics([f"{name}.in", f"{name}.out"])
        for answer in asked.values():
            answer.result()

    def flaws(self, sent: Counter[str], names: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Return how many records of each output and table are lost, and there twice."""
        workspace = load_workspace(self.fleet.root)
        kafka = KafkaCluster(workspace.cluster("here"))
        found = {}
        for name in names:
            read = [json.loads(one.value() or b"{}")["id"] for one in kafka.records(f"{name}.out")]
            found[f"stream {name}"] = _flaw(sent[name], read)
            if name in self.tables:
                rows = table_loader(workspace, f"lake.soak.{name}")().scan(selected_fields=("id",))
                found[f"table {name}"] = _flaw(sent[name], rows.to_arrow()["id"].to_pylist())
        return {what: flaw for what, flaw in found.items() if any(flaw)}

    def findings(self) -> list[str]:
        """Return what the audits of all streams and tables find."""
        workspace, found = load_workspace(self.fleet.root), []
        for name in self.streams:
            try:
                stream = load_stream(self.fleet.root / f"streams/{name}.yaml", workspace)
                audited = audit_stream(workspace, effective(stream, workspace, None))
                found += [f"stream {name}: {one}" for one in audited.findings]
                if name in self.tables:
                    table = load_lake_table(self.fleet.root / f"tables/{name}.yaml", workspace)
                    if not audit_table(workspace, table).ok:
                        found.append(f"table {name}: its audit fails")
            except HeadraceError as problem:
                found.append(f"{name}: {problem}")
        return found


def _flaw(sent: int, read: list[int]) -> tuple[int, int]:
    unique = len(set(read))
    return sent - unique, len(read) - unique


class Records(Traffic):
    """Sends each stream a few records a second; streams come and go."""

    def __init__(self, ground: Ground, per_s: int) -> None:
        super().__init__(ground.fleet.bootstrap_servers, list(ground.streams), per_s)
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        """Send one more stream records."""
        with self._lock:
            self._names.append(name)

    def drop(self, name: str) -> None:
        """Send a stream no more; what it was sent has arrived when this returns."""
        with self._lock:
            self._names.remove(name)
        self.flush()

    def _send(self) -> None:
        while not self._over.wait(1.0):
            with self._lock:
                for name in self._names:
                    self.send(name, int(self._per_s))
            self._producer.poll(0)
