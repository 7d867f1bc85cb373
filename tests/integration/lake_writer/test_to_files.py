"""From a topic to files: formats, the number of files, and a task that ends between its steps."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import pytest

from headrace import contract
from headrace.config.load import load_lake_table
from headrace.errors import Terminal, Transient
from headrace.iceberg.catalog import table_loader
from headrace.iceberg.table_files import TableFiles, location_of
from headrace.iceberg.tables import ensure_table
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord
from headrace.records.avro.writer import AvroWriter
from headrace.records.json.writer import JsonWriter
from headrace.records.rows import row_class
from headrace.schema.avro import parse_avro
from lake_writer.audit import audit
from lake_writer.landed import Landed
from lake_writer.plan import landing_plan, values_of
from lake_writer.task import LandingWork
from tests.integration.lake_writer.landing_table import places
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from tests.registry_server import RegistryServer

FIELDS: list[dict[str, Any]] = [
    {"name": "flag", "type": "boolean"},
    {"name": "i", "type": "int"},
    {"name": "l", "type": ["null", "long"]},
    {"name": "f", "type": "float"},
    {"name": "d", "type": "double"},
    {"name": "b", "type": "bytes"},
    {"name": "s", "type": "string"},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    {"name": "x", "type": {"type": "fixed", "name": "X", "size": 3}},
    {
        "name": "price",
        "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2},
    },
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "wall", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
    {"name": "many", "type": {"type": "array", "items": ["null", "int"]}},
    {"name": "map", "type": {"type": "map", "values": "double"}},
    {
        "name": "rec",
        "type": [
            "null",
            {"type": "record", "name": "R", "fields": [{"name": "deep", "type": "string"}]},
        ],
    },
]
SCHEMA = {"type": "record", "name": "tv.All", "fields": FIELDS}
# As Spark shows them in JSON, where it ends times at milliseconds.
SHOWN = [
    {
        "flag": True, "i": -7, "l": 2**62, "f": 0.25, "d": -1.5e300, "b": "AP8=", "s": "é",
        "e": "B", "x": "AQID", "price": 123456789012345678.25, "day": "1969-12-31",
        "at": "1969-12-31T23:59:59.999Z", "wall": "2026-03-01T12:00:00.001",
        "many": [1, None], "map": {"k": 0.5}, "rec": {"deep": "x"},
    },
    {
        "flag": False, "i": 0, "f": 0.0, "d": 0.0, "b": "", "s": "", "e": "A", "x": "AAAA",
        "price": 0.00, "day": "2026-03-01", "at": "2026-03-01T00:00:00.000Z",
        "wall": "1970-01-01T00:00:00.000", "many": [], "map": {},
    },
]  # fmt: skip


@pytest.fixture
def name(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    chosen = unique("files")
    pipelines.make_topic(chosen, partitions=8)
    return chosen


def values_in_rows() -> list[Any]:
    record = parse_avro(json.dumps(SCHEMA), "test")
    inner = record.field("rec")
    assert inner is not None
    deep = row_class(inner.type)
    row = row_class(record)
    return [
        row(
            True, -7, 2**62, 0.25, -1.5e300, b"\x00\xff", "é", "B", b"\1\2\3",
            Decimal("123456789012345678.25"), -1, -1_000, 1_772_366_400_001_000, [1, None],
            {"k": 0.5}, deep("x"),
        ),
        row(
            False, 0, None, 0.0, 0.0, b"", "", "A", b"\0\0\0", Decimal("0.00"), 20_513,
            1_772_323_200_000_000, 0, [], {}, None,
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["json", "avro"])
def test_every_type_as_spark_reads_it(
    spark: SparkSession,
    pipelines: Pipelines,
    name: str,
    registry_server: RegistryServer,
    form: str,
) -> None:
    record = parse_avro(json.dumps(SCHEMA), "test")
    source: dict[str, object] = {"type": "kafka", "cluster": "fronting", "topic": name}
    source |= {"format": form, "schema": f"schemas/{name}.avsc"}
    write: Callable[[Any], bytes] = JsonWriter(record)
    if form == "avro":
        known = registry_server.put(f"{name}-value", json.dumps(SCHEMA))
        source["schema"] = {"registry": {"url": registry_server.url, "subject": f"{name}-value"}}
        write = AvroWriter(record, known.id)
    pipelines.send(name, [KafkaRecord(write(row), b"k") for row in values_in_rows()])
    path = pipelines.table(name, name, SCHEMA, source=source)
    assert pipelines.land(spark, path) == Landed(commits=1, rows=2)
    table = spark.table(f"lake.tv.{name}").orderBy(contract.OFFSET).drop(contract.METADATA)
    assert [json.loads(line) for line in table.toJSON().collect()] == SHOWN
    assert audit(pipelines.workspace, load_lake_table(path, pipelines.workspace)).ok


def test_files_follow_the_bytes(spark: SparkSession, pipelines: Pipelines, name: str) -> None:
    pipelines.send(name, [KafkaRecord(event(n), str(n).encode()) for n in range(400)])
    target = {"catalog": "lake", "database": "tv", "table": name}
    path = pipelines.table(name, name, table=target)
    assert pipelines.land(spark, path).rows == 400
    load = table_loader(pipelines.workspace, f"lake.tv.{name}")
    assert len({partition for partition, _ in places(load())}) == 8
    assert len(list(load().scan().plan_files())) == 1


class WithoutSpark:
    """One task's work, in this process."""

    def __init__(self, pipelines: Pipelines, name: str, **more: object) -> None:
        path = pipelines.table(name, name, **more)  # type: ignore[arg-type]  # keys of the file
        loaded = load_lake_table(path, pipelines.workspace)
        values = values_of(pipelines.workspace, loaded)
        self.table: Table = ensure_table(pipelines.workspace, loaded.config.table, values.schema)
        plan = landing_plan(pipelines.workspace, loaded, values)
        held = KafkaCluster(pipelines.workspace.cluster("fronting")).offsets(name)
        self.work = LandingWork(plan, location_of(self.table, 2**27), held)

    def files(self) -> list[Path]:
        return list((Path(urlparse(self.table.location()).path) / "data").rglob("*.parquet"))


def test_bad_records_are_kept_before_files_are_told_of(
    pipelines: Pipelines, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipelines.send(name, [*map(event, range(20)), b"poison"])
    task = WithoutSpark(pipelines, name)

    def failing(_files: TableFiles) -> None:
        raise OSError("injected")

    monkeypatch.setattr(TableFiles, "close", failing)
    done = task.work.do()
    assert isinstance(done.problem, Transient)
    assert [one.value for one in pipelines.seen(f"{name}.quarantine", "fronting")] == [b"poison"]
    assert (done.files, task.files()) == ((), [])


def test_where_a_task_stops_it_leaves_nothing(pipelines: Pipelines, name: str) -> None:
    pipelines.send(name, [*map(event, range(20)), b"poison"])
    task = WithoutSpark(pipelines, name, hygiene={"on_bad_record": "fail"})
    done = task.work.do()
    assert isinstance(done.problem, Terminal)
    assert "stops at a rejected record" in str(done.problem)
    assert task.files() == []


@pytest.mark.parametrize("at_ms", [2**62, -1])
def test_a_timestamp_that_is_none_is_turned_away(
    pipelines: Pipelines, name: str, at_ms: int
) -> None:
    """Beyond any calendar, or what Kafka has where a producer gave none."""
    pipelines.send(
        name, [KafkaRecord(event(1), b"k"), KafkaRecord(event(2), b"k", timestamp_ms=at_ms)]
    )
    done = WithoutSpark(pipelines, name).work.do()
    assert done.problem is None
    assert (done.records, done.quarantined, sum(one.record_count for one in done.files)) == (
        2,
        1,
        1,
    )
    (kept,) = pipelines.seen(f"{name}.quarantine", "fronting")
    assert kept.timestamp_ms == at_ms
