"""The figures of a table's page against its real files, and against the log of a real broker."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from pyiceberg.io.pyarrow import PyArrowFileIO

from headrace.config.lake_table.file import LakeTable
from headrace.config.load import load_lake_table
from headrace.config.workspace.pages import Prices
from headrace.contract import FOLLOW_TAG, REPLAY_TAG
from headrace.iceberg.file_figures import FileFiguresReader
from headrace.iceberg.history import to_expire
from headrace.iceberg.manifests import MERGED_TOGETHER
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.stored_size import stored_size
from lake_writer.table_detail import TableDetails
from tests.integration.lake_writer.landing_table import LandingTable
from tests.integration.pipelines import event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.io import InputFile
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace
    from headrace.embedded.broker import Broker
    from tests.integration.pipelines import Pipelines

NOW_MS = 1_900_000_000_000
# Of a topic of a few hundred kilobytes; what is around the records in a fetch is some bytes.
TOLERANCE = 0.05


@pytest.fixture
def landing(tmp_path: Path) -> LandingTable:
    found = LandingTable(tmp_path)
    found.make()
    return found


def land(landing: LandingTable, batches: int, first: int = 0) -> None:
    commits = landing.commits()
    for number in range(first, first + batches):
        took_ms = 1_000 * (number + 1)
        batch = landing.batch({0: range(3 * number, 3 * number + 3)})
        commits.commit(replace(batch, took_ms=took_ms))


def test_figures_are_those_of_the_files_also_of_merged_manifests(landing: LandingTable) -> None:
    land(landing, MERGED_TOGETHER + 2)
    table = landing.load()
    figures = FileFiguresReader(small_below=10**9).read(table)
    sizes = [task.file.file_size_in_bytes for task in table.scan().plan_files()]
    assert len(sizes) == MERGED_TOGETHER + 2
    assert (figures.files, figures.bytes, figures.rows) == (len(sizes), sum(sizes), 3 * len(sizes))
    assert sum(files for files, _ in figures.by_size) == len(sizes)
    assert sum(size for _, size in figures.by_size) == sum(sizes)
    assert figures.small_files == sum(figures.small_by_hour.values()) == len(sizes)
    assert figures.manifests == len(table.inspect.manifests()) < len(sizes)
    # All rows of a batch have one time here.
    assert figures.by_span[0][0] == len(sizes)


def test_a_manifest_is_read_once(landing: LandingTable, monkeypatch: pytest.MonkeyPatch) -> None:
    land(landing, 5)
    reader = FileFiguresReader(small_below=1)
    assert reader.read(landing.load()).files == 5
    opened: list[str] = []
    plain = PyArrowFileIO.new_input

    def new_input(self: PyArrowFileIO, location: str) -> InputFile:
        opened.append(location)
        return plain(self, location)

    land(landing, 1, first=5)
    table = landing.load()
    monkeypatch.setattr(PyArrowFileIO, "new_input", new_input)
    assert reader.read(table).files == 6
    assert [one.rpartition("/")[2].startswith("snap-") for one in opened] == [True, False]


def test_of_very_many_files_the_newest_are_counted(landing: LandingTable) -> None:
    land(landing, 5)
    figures = FileFiguresReader(small_below=1, most_files=3).read(landing.load())
    assert (figures.files, figures.unread_files) == (3, 2)


def test_what_expires_is_old_and_neither_the_newest_nor_held(landing: LandingTable) -> None:
    land(landing, 6)
    table = landing.load()
    made = [one.snapshot_id for one in table.metadata.snapshots]
    table.manage_snapshots().create_tag(made[1], "held").commit()

    def expiring(**properties: str) -> list[int] | None:
        found: Table = landing.load()
        with found.transaction() as change:
            change.set_properties(properties)
        gone = to_expire(landing.load(), NOW_MS)
        return None if gone is None else [one.snapshot_id for one in gone]

    assert expiring() == [made[0], *made[2:5]]
    assert expiring(**{"history.expire.min-snapshots-to-keep": "3"}) == [made[0], made[2]]
    assert expiring(**{"history.expire.max-ref-age-ms": "1"}) == made[:3]
    assert expiring(**{"history.expire.max-snapshot-age-ms": str(10**13)}) == []
    assert expiring(**{"gc.enabled": "false"}) is None


def test_commits_and_held_snapshots_of_a_table_whose_kafka_is_away(
    landing: LandingTable, workspace: Workspace
) -> None:
    """The table's part of the page does not wait for the topic's."""
    land(landing, 3)
    head = landing.load().current_snapshot()
    assert head is not None
    with landing.load().manage_snapshots() as change:
        change.create_tag(head.snapshot_id, f"{REPLAY_TAG}run-1@{head.snapshot_id}")
        change.create_tag(head.snapshot_id, f"{FOLLOW_TAG}my-app-0a1b2c3d-{head.snapshot_id}")
    config = LakeTable.model_validate(
        {
            "kind": "lake_table",
            "name": "w",
            "source": {"type": "kafka", "cluster": "nowhere", "topic": "events", "format": "raw"},
            "table": {"catalog": "lake", "database": "tv", "table": "events"},
        }
    )
    details = TableDetails(workspace, config)
    details._load = landing.load  # noqa: SLF001 - a table without a place in the workspace's catalog
    found = details.ask()
    assert found.problem is None
    assert [one.duration_s for one in found.commits] == [3.0, 2.0, 1.0]
    assert [one.by for one in found.commits] == ["lake writer w"] * 3
    assert [(one.holder, one.held_by) for one in found.refs] == [
        ("follower", "my-app"),
        ("replay", "run-1"),
    ]
    assert found.cost is not None
    assert found.cost.kafka_bytes is None
    assert found.cost.unknown is not None


def test_a_table_that_is_not_there_and_a_catalog_that_is_away(workspace: Workspace) -> None:
    config = LakeTable.model_validate(
        {
            "kind": "lake_table",
            "name": "never",
            "source": {"type": "kafka", "cluster": "nowhere", "topic": "never", "format": "raw"},
            "table": {"catalog": "lake", "database": "tv", "table": "never"},
        }
    )
    assert not TableDetails(workspace, config).ask().exists
    away = {"type": "rest", "uri": "http://127.0.0.1:1"}
    catalog = workspace.catalogs["lake"]
    elsewhere = replace(
        workspace,
        catalogs={"lake": replace(catalog, config=type(catalog.config).model_validate(away))},
    )
    problem = TableDetails(elsewhere, config).ask().problem
    assert problem is not None
    assert "lake" in problem


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_what_records_take_is_what_the_brokers_log_has(
    codec: str, broker: Broker, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    topic, records = unique(f"sizes_{codec}"), 5_000
    cluster = workspace.cluster("fronting")
    kafka = KafkaCluster(cluster)
    kafka.ensure_topic(topic, 3)
    producer = Producer({**cluster.client_properties(), "compression.type": codec, "linger.ms": 50})
    own = random.Random(1)
    plain = 0
    for number in range(records):
        value = json.dumps({"id": number, "chance": own.random(), "text": "x" * 50}).encode()
        producer.produce(topic, value, b"key", headers=[("h", b"12")])
        plain += len(value) + 6
    producer.flush()
    logs = broker.log_file.parent.rglob(f"{topic}-*/*.log")
    on_disk = sum(one.stat().st_size for one in logs)
    found = stored_size(kafka.properties, topic, kafka.offsets(topic))
    assert found is not None
    assert found.records == records
    assert found.log_bytes == pytest.approx(on_disk, rel=TOLERANCE)
    assert found.plain_bytes == plain
    assert kafka.replication(topic) == 1


def test_an_empty_topic_has_no_size(workspace: Workspace, unique: Callable[[str], str]) -> None:
    topic = unique("empty")
    kafka = KafkaCluster(workspace.cluster("fronting"))
    kafka.ensure_topic(topic, 2)
    assert stored_size(kafka.properties, topic, kafka.offsets(topic)) is None


def test_the_headline_is_of_the_same_records(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]
) -> None:
    name = unique("headline")
    pipelines.make_topic(name)
    pipelines.send(name, [event(one) for one in range(100)])
    path = pipelines.table(name, name)
    pipelines.land(spark, path)
    prices = Prices(kafka_gb_month=0.1, lake_gb_month=0.02, kafka_replication=3)
    workspace = replace(pipelines.workspace, prices=prices)
    loaded = load_lake_table(path, workspace)
    found = TableDetails(workspace, loaded.config).ask()
    cost, files = found.cost, found.files
    assert cost is not None
    assert files is not None
    assert (cost.rows, files.rows, cost.sampled) == (100, 100, 100)
    assert cost.kafka_bytes is not None
    assert cost.times_smaller == pytest.approx(cost.kafka_bytes / files.bytes)
    assert cost.kafka_cost == pytest.approx(3 * cost.kafka_bytes / 1e9 * 0.1)
    assert cost.lake_cost == pytest.approx(files.bytes / 1e9 * 0.02)
    assert found.commits[0].duration_s is not None
