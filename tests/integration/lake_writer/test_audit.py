"""The audit's own proof: a row that is taken away, one that is doubled, and what only looks so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from pyiceberg.expressions import EqualTo

from headrace import contract
from headrace.config.load import load_lake_table
from headrace.errors import Terminal
from headrace.iceberg.catalog import table_loader
from headrace.iceberg.tables import ensure_table
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord
from headrace.landing.commit_state import Identity
from headrace.landing.commits import TableBatch, TableCommits
from lake_writer.audit import audit
from tests.integration.lake_writer.landing_table import data_file, rows
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from pyiceberg.table import Table

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from lake_writer.findings import Findings

SCHEMA = {"type": "record", "name": "tv.Event", "fields": [{"name": "id", "type": "long"}]}


@dataclass(frozen=True)
class Landed:
    """A topic, and a table that its writer's commits have filled, without a JVM."""

    pipelines: Pipelines
    name: str

    def send(self, *values: bytes) -> None:
        self.pipelines.send(self.name, [KafkaRecord(value, b"one partition") for value in values])

    def land(self, without: Collection[int] = (), **more: object) -> Path:
        # Without partitions, so that pyiceberg can take a row away.
        target = {"catalog": "lake", "database": "tv", "table": self.name}
        path = self.pipelines.table(self.name, self.name, SCHEMA, table=target, **more)
        loaded = self.loaded(path)
        schema = loaded.schema
        assert schema is not None
        ensure_table(self.pipelines.workspace, loaded.config.table, schema)
        identity = Identity.of_this_process(self.name, self.name)
        commits = TableCommits(self.table, loaded.config.table.identifier, identity)
        commits.resume()
        held = KafkaCluster(self.pipelines.workspace.cluster("fronting")).offsets(self.name)
        files = [
            data_file(self.table(), self.name, number, [o for o in span if o not in without])
            for number, span in held.items()
        ]
        ends = {number: span.stop for number, span in held.items()}
        commits.commit(TableBatch(files, dict.fromkeys(held, 0), ends))
        return path

    def table(self) -> Table:
        return table_loader(self.pipelines.workspace, f"lake.tv.{self.name}")()

    def loaded(self, path: Path) -> LoadedLakeTable:
        return load_lake_table(path, self.pipelines.workspace)

    def audit(self, path: Path) -> Findings:
        return audit(self.pipelines.workspace, self.loaded(path))


@pytest.fixture
def landed(workspace: Workspace, unique: Callable[[str], str]) -> Landed:
    pipelines = Pipelines(workspace)
    name = unique("audited")
    pipelines.make_topic(name)
    return Landed(pipelines, name)


def good(number: int) -> list[bytes]:
    return [b'{"id":%d}' % n for n in range(number)]


def wrong(found: Findings) -> list[str]:
    return [line for line in found.to_text().splitlines()[2:] if " @ " in line]


def test_a_row_taken_away_and_one_doubled(landed: Landed) -> None:
    landed.send(*good(30))
    path = landed.land()
    assert landed.audit(path).ok
    landed.table().delete(one_row(10))
    found = landed.audit(path)
    assert wrong(found) == [f"missing: {landed.name}-0 @ 10"]
    assert not found.ok
    table = landed.table()
    table.append(rows(table, landed.name, 0, [20, 21]))
    found = landed.audit(path)
    assert wrong(found) == [f"missing: {landed.name}-0 @ 10", f"doubled: {landed.name}-0 @ 20-21"]
    said = json.loads(json.dumps(found.to_json()))
    assert said["ok"] is False
    assert said["rows"] == 31
    (partition,) = said["partitions"]
    assert partition == {
        "partition": 0,
        "since": 0,
        "next": 30,
        "end": 30,
        "rows": 31,
        "complete_up_to": 10,
        "missing": ["10"],
        "doubled": ["20-21"],
        "unmarked": [],
        "lost": [],
    }


def one_row(offset: int) -> EqualTo:
    return EqualTo("id", offset)  # type: ignore[call-arg]  # as pyiceberg's docs have it


def test_rows_that_no_commit_tells_of(landed: Landed) -> None:
    landed.send(*good(5))
    path = landed.land()
    table = landed.table()
    table.append(rows(table, landed.name, 0, range(5, 8)))
    assert wrong(landed.audit(path)) == [f"unmarked: {landed.name}-0 @ 5-7"]


def test_rows_of_other_topics_do_not_count(landed: Landed) -> None:
    landed.send(*good(5))
    path = landed.land()
    table = landed.table()
    table.append(rows(table, "another", 0, range(8)))
    assert landed.audit(path).ok


def test_an_offset_where_a_transaction_ended_is_no_record(landed: Landed) -> None:
    cluster = landed.pipelines.workspace.cluster("fronting")
    producer = Producer(cluster.client_properties() | {"transactional.id": landed.name})
    producer.init_transactions()
    for commit in (True, False, True):
        producer.begin_transaction()
        producer.produce(landed.name, b'{"id":1}')
        producer.flush()
        producer.commit_transaction() if commit else producer.abort_transaction()
    # Two records that count: 0 and 4. At 1, 3 and 5 are the ends, at 2 is what was given up.
    path = landed.land(without={1, 2, 3, 5})
    found = landed.audit(path)
    assert found.ok
    assert found.partitions[0].complete_up_to == 6
    landed.table().delete(one_row(4))
    assert wrong(landed.audit(path)) == [f"missing: {landed.name}-0 @ 4"]


def test_what_was_turned_away_is_not_missing(landed: Landed) -> None:
    landed.send(*good(3), b"poison", b'{"id":5}')
    path = landed.land(without={3})
    assert wrong(landed.audit(path)) == [f"missing: {landed.name}-0 @ 3"]
    headers = (
        (contract.QUARANTINE_TOPIC, landed.name.encode()),
        (contract.QUARANTINE_PARTITION, b"0"),
        (contract.QUARANTINE_OFFSET, b"3"),
    )
    landed.pipelines.send(f"{landed.name}.quarantine", [KafkaRecord(b"poison", headers=headers)])
    assert landed.audit(path).ok


def test_what_is_dropped_is_decoded_again(landed: Landed) -> None:
    landed.send(*good(3), b"poison", b'{"id":5}', b'{"id":6}')
    path = landed.land(without={3, 5}, hygiene={"on_bad_record": "drop"})
    assert wrong(landed.audit(path)) == [f"missing: {landed.name}-0 @ 5"]


def test_a_table_that_its_writer_never_touched(landed: Landed) -> None:
    landed.send(*good(1))
    path = landed.land()
    other = json.loads(path.read_text()) | {"name": "somebody"}
    path.write_text(json.dumps(other))
    with pytest.raises(Terminal, match="has no commit state of writer somebody"):
        landed.audit(path)
