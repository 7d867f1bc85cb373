"""Schemas that change under a running writer, and between two runs of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.types import LongType
from structlog.testing import capture_logs

from headrace import contract
from headrace.embedded.process import wait_until
from headrace.errors import Terminal
from headrace.iceberg.evolve_table import DoesNotFit, follow
from headrace.kafka.sender import KafkaRecord
from headrace.schema.avro import parse_avro
from lake_writer.landed import Landed
from tests.integration.lake_writer.landing_table import NAME, RECORD, LandingTable
from tests.integration.lake_writer.live_writer import live
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from tests.integration.pipelines import Pipelines
    from tests.registry_server import RegistryServer

NULL = "null"
QUICKLY = {"max_interval": "200ms"}
FIRST = [
    {"name": "id", "type": "int"},
    {"name": "at", "type": {"type": "record", "name": "At", "fields": [
        {"name": "x", "type": "float"},
    ]}},
    {"name": "many", "type": {"type": "array", "items": {"type": "record", "name": "One", "fields": [
        {"name": "n", "type": "int"},
    ]}}},
]  # fmt: skip
SECOND = [
    {"name": "key", "type": "long", "aliases": ["id"]},
    {"name": "at", "type": {"type": "record", "name": "At", "fields": [
        {"name": "x", "type": "double"},
        {"name": "y", "type": [NULL, "string"], "default": None},
    ]}},
    {"name": "many", "type": {"type": "array", "items": {"type": "record", "name": "One", "fields": [
        {"name": "n", "type": "long"},
        {"name": "unit", "type": "string", "default": "m"},
    ]}}},
    {"name": "more", "type": [NULL, {"type": "map", "values": "int"}], "default": None},
]  # fmt: skip
OLD_ROW = {"id": 1, "at": {"x": 0.5}, "many": [{"n": 1}]}
NEW_ROW = {
    "key": 2**40, "at": {"x": 1e300, "y": "é"}, "many": [{"n": 2**40}], "more": {"a": 1},
}  # fmt: skip
OLD_ROW_NOW = {
    "key": 1, "at": {"x": 0.5, "y": None}, "many": [{"n": 1, "unit": None}], "more": None,
}  # fmt: skip
NEW_ROW_NOW = {**NEW_ROW, "many": [{"n": 2**40, "unit": "m"}]}


def schema(fields: Sequence[object]) -> dict[str, Any]:
    return {"type": "record", "name": "tv.Event", "fields": fields}


def value(row: object) -> KafkaRecord:
    return KafkaRecord(json.dumps(row).encode(), b"k")


def rows(table: Table, **scan: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - as the scan takes
    found = table.scan(**scan).to_arrow().drop_columns([contract.METADATA]).to_pylist()
    # A map comes as pairs.
    return [
        {**one, "more": dict(one["more"])} if isinstance(one.get("more"), list) else one
        for one in found
    ]


def test_a_running_writer_follows_its_schema_file(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    path = pipelines.table(name, name, schema(FIRST), batch=QUICKLY, schema_evolution="widen")
    file = pipelines.workspace.root / "schemas" / f"{name}.avsc"

    def landed(number: int) -> bool:
        return len(load().scan(selected_fields=(contract.OFFSET,)).to_arrow()) == number

    with capture_logs() as said, live(pipelines, spark, path):
        pipelines.send(name, [value(OLD_ROW)])
        assert wait_until(lambda: landed(1), LIMIT_S)
        before = load()
        snapshot = before.current_snapshot()
        assert snapshot is not None
        # Half of it is saved, and records go on coming.
        whole = json.dumps(schema(SECOND))
        file.write_text(whole[: len(whole) // 2], encoding="utf-8")
        pipelines.send(name, [value(OLD_ROW)])
        assert wait_until(lambda: landed(2), LIMIT_S)
        pipelines.send(name, [value(OLD_ROW)])
        assert wait_until(lambda: landed(3), LIMIT_S)
        file.write_text(whole, encoding="utf-8")
        pipelines.send(name, [value(NEW_ROW)])
        assert wait_until(lambda: landed(4), LIMIT_S)
    warned = [one["event"] for one in said if one["log_level"] == "warning"]
    assert warned == ["the new schema cannot be used; the previous one stays in use"]
    expected = [*[OLD_ROW_NOW] * 3, NEW_ROW_NOW]
    assert sorted(rows(load()), key=lambda row: row["key"]) == expected
    by_spark = spark.table(f"lake.tv.{name}").orderBy("key").drop(contract.METADATA).collect()
    assert [row.asDict(recursive=True) for row in by_spark] == expected
    assert [row["key"] for row in rows(load(), row_filter="key > 1")] == [2**40]
    # Who reads what was there before reads it as it was.
    assert rows(load(), snapshot_id=snapshot.snapshot_id) == [OLD_ROW]
    assert rows(before) == [OLD_ROW]
    then = spark.read.option("versionAsOf", snapshot.snapshot_id).table(f"lake.tv.{name}")
    assert [row.asDict(recursive=True) for row in then.drop(contract.METADATA).collect()] == [
        OLD_ROW
    ]


OLD_FIELDS = [{"name": "id", "type": "int"}]
NEW_FIELD = {"name": "more", "type": [NULL, "string"], "default": None}


def test_no_record_of_a_new_version_in_the_registry_lands_without_its_new_field(
    spark: SparkSession,
    pipelines: Pipelines,
    name: str,
    load: Callable[[], Table],
    registry_server: RegistryServer,
) -> None:
    subject = f"{name}-value"
    first = registry_server.put(subject, json.dumps(schema(OLD_FIELDS)))
    registered = {"registry": {"url": registry_server.url, "subject": subject}}
    source = {"type": "kafka", "cluster": "fronting", "topic": name, "format": "avro"}
    path = pipelines.table(
        name,
        name,
        source={**source, "schema": registered},
        batch=QUICKLY,
        schema_evolution="add_columns",
    )

    def landed() -> int:
        return len(load().scan(selected_fields=(contract.OFFSET,)).to_arrow())

    def framed(known: int, payload: bytes) -> KafkaRecord:
        return KafkaRecord(b"\0" + known.to_bytes(4, "big") + payload, b"k")

    with live(pipelines, spark, path):
        pipelines.send(name, [framed(first.id, b"\x02")])
        assert wait_until(lambda: landed() == 1, LIMIT_S)
        second = registry_server.put(subject, json.dumps(schema([*OLD_FIELDS, NEW_FIELD])))
        late = framed(first.id, b"\x06")
        pipelines.send(name, [framed(second.id, b"\x04\x02\x02x"), late])
        assert wait_until(lambda: landed() == 3, LIMIT_S)
    assert sorted(rows(load()), key=lambda row: row["id"]) == [
        {"id": 1, "more": None},
        {"id": 2, "more": "x"},
        {"id": 3, "more": None},
    ]


def test_what_changed_while_it_was_stopped_is_followed_or_told(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    pipelines.land(spark, pipelines.table(name, name, schema(FIRST)))
    with pytest.raises(DoesNotFit) as refused:
        pipelines.land(spark, pipelines.table(name, name, schema(SECOND)))
    assert str(refused.value) == (
        f"table lake.tv.{name} does not fit the schema: it would have to rename id to key;"
        " it would have to widen key from int to long;"
        " it would have to widen at.x from float to double; it would have to add at.y (string);"
        " it would have to widen many[].n from int to long;"
        " it would have to add many[].unit (string);"
        " it would have to add more (map<string, int>)\n"
        "  → with schema_evolution: widen the table follows the schema; otherwise name another table,"
        " or make the schema and the table agree"
    )
    pipelines.send(name, [value(NEW_ROW)])
    path = pipelines.table(name, name, schema(SECOND), schema_evolution="widen")
    assert pipelines.land(spark, path).rows == 1
    assert rows(load()) == [NEW_ROW_NOW]


@pytest.mark.parametrize("policy", ["stop", "quarantine"])
def test_a_change_that_no_table_can_follow(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table], policy: str
) -> None:
    more: dict[str, object] = {"schema_evolution": "widen", "on_incompatible_schema": policy}
    pipelines.send(name, [value({"id": 1})])
    pipelines.land(spark, pipelines.table(name, name, schema(OLD_FIELDS), **more))
    other = schema([{"name": "id", "type": "string"}, NEW_FIELD])
    pipelines.send(name, [value({"id": "x"}), value({"id": 2}), value({"id": 3, "more": "y"})])
    path = pipelines.table(name, name, other, **more)
    if policy == "stop":
        with pytest.raises(Terminal, match="id is int, but the schema has string"):
            pipelines.land(spark, path)
        assert rows(load()) == [{"id": 1}]
        return
    assert pipelines.land(spark, path) == Landed(commits=1, rows=1, quarantined=2)
    assert sorted(row["id"] for row in rows(load())) == [1, 2]
    # A field that has no column is not left out: the record waits for one.
    kept = pipelines.seen(f"{name}.quarantine", "fronting")
    assert [one.header(contract.QUARANTINE_EXCEPTION_MESSAGE) for one in kept] == [
        b"id: expected int, got str",
        b"more is a field of a schema that the table does not follow",
    ]


def test_two_writers_that_change_a_table_at_once_end_with_both_changes(tmp_path: Path) -> None:
    table = LandingTable(tmp_path)
    table.make()
    catalog = table.catalog()
    one, other = (
        parse_avro(schema([{"name": "id", "type": "long"}, {**NEW_FIELD, "name": new}]))
        for new in ("one", "other")
    )
    catalog.before = lambda: ignored(follow(table.load, "lake.tv.events", other, "add_columns"))
    found = follow(lambda: catalog.load_table(NAME), "lake.tv.events", one, "add_columns")
    assert [field.name for field in found.schema().fields] == [
        "id",
        contract.METADATA,
        "other",
        "one",
    ]
    numbers = [field.field_id for field in found.schema().fields]
    assert len(numbers) == len(set(numbers))


def test_files_of_a_batch_land_though_the_columns_changed_in_between(tmp_path: Path) -> None:
    table = LandingTable(tmp_path)
    table.make()
    catalog = table.catalog()
    commits = table.commits(catalog)
    batch = table.batch({0: range(3)})
    wider = parse_avro(schema([{"name": "number", "type": "long", "aliases": ["id"]}, NEW_FIELD]))
    catalog.before = lambda: ignored(follow(table.load, "lake.tv.events", wider, "add_columns"))
    commits.commit(batch)
    found = table.load().scan().to_arrow()
    assert sorted(found["number"].to_pylist()) == [0, 1, 2]
    assert found["more"].null_count == 3


def test_a_catalog_that_took_a_change_and_lost_the_answer(tmp_path: Path) -> None:
    table = LandingTable(tmp_path)
    table.make()
    catalog = table.catalog()

    def lose_the_answer() -> None:
        raise TimeoutError("injected")

    catalog.after = lose_the_answer
    wider = parse_avro(schema([{"name": "id", "type": "long"}, NEW_FIELD]))
    follow(lambda: catalog.load_table(NAME), "lake.tv.events", wider, "add_columns")
    after = table.load()
    assert [field.name for field in after.schema().fields] == ["id", contract.METADATA, "more"]
    assert len(after.metadata.schemas) == 2
    assert after.schema().find_type("id") == LongType()


def test_a_table_that_lost_a_column_is_told_of(tmp_path: Path) -> None:
    table = LandingTable(tmp_path)
    table.make()
    with table.load().update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("id")
    with pytest.raises(DoesNotFit, match="id is new and required"):
        follow(table.load, "lake.tv.events", RECORD, "none")


def ignored(_: object) -> None:
    """Take a value that nobody needs."""
