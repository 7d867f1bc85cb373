"""What the lake writer makes of a topic: rows, files with bounds, commits, and each offset once."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from headrace import contract
from headrace.errors import HeadraceError, Terminal
from headrace.kafka.sender import KafkaRecord
from headrace.landing.commit_state import SUMMARY, CommitState, Span, state_property
from headrace.locks import AlreadyRunning, hold
from lake_writer.landed import Landed
from tests.integration.lake_writer.landing_table import BOUNDED, bounds, places
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession


T0_MS = 1_772_323_200_000
HOUR_MS = 3_600_000


@pytest.fixture
def name(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    """A topic of that name is there; a table is the test's to make."""
    chosen = unique("landed")
    pipelines.make_topic(chosen, partitions=2)
    return chosen


def rows(table: Table) -> list[dict[str, object]]:
    found: list[dict[str, object]] = table.scan().to_arrow().to_pylist()
    return found


def test_rows_and_files(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    days = [T0_MS + day * 24 * HOUR_MS for day in (0, 1)]
    # Newest first: the file must be in the order of time all the same.
    times = [day + minute for day in days for minute in range(50, 0, -1)]
    records = [
        KafkaRecord(event(n), str(n).encode(), (("region", b"eu"),) if n else (), time)
        for n, time in enumerate(times)
    ]
    pipelines.send(name, records)
    path = pipelines.table(name, name)
    assert pipelines.land(spark, path) == Landed(commits=1, rows=100)
    table = load()
    assert [str(field) for field in table.spec().fields] == [
        f"1000: kafka_ingestion_ts_day: day({table.schema().find_field(BOUNDED[0]).field_id})"
    ]
    by_id = {row["id"]: row for row in rows(table)}
    seen = {one.value: one for one in pipelines.seen(name, "fronting")}
    assert len(by_id) == 100
    for n, time in enumerate(times):
        metadata = by_id[n][contract.METADATA]
        assert isinstance(metadata, dict)
        came = seen[event(n)]
        assert metadata.pop("kafka_ingestion_ts").timestamp() * 1000 == time
        assert metadata == {
            "topic": name,
            "partition": came.partition,
            "offset": came.offset,
            "region": "eu" if n else "us-east-1",
        }
    said = bounds(table)
    assert sorted({one[contract.INGESTION_TS][0] // 86_400_000_000 for one in said}) == [
        day // (24 * HOUR_MS) for day in days
    ]
    ends = {end for one in said for end in one[contract.INGESTION_TS]}
    assert (min(ends), max(ends)) == (min(times) * 1000, max(times) * 1000)
    for task in table.scan().plan_files():
        in_file = spark.read.parquet(task.file.file_path).select(contract.INGESTION_TS).collect()
        assert in_file == sorted(in_file)


def test_every_commit_says_where_it_ends(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    path = pipelines.table(name, name, batch={"max_rows": 10})
    pipelines.send(name, [KafkaRecord(event(n), b"same") for n in range(15)])
    assert pipelines.land(spark, path) == Landed(commits=2, rows=15)
    (partition,) = {place for place, _ in places(load())}
    states = [
        CommitState.from_json(snapshot.summary.additional_properties[SUMMARY])
        for snapshot in load().snapshots()
        if snapshot.summary is not None
    ]
    other = 1 - partition
    none = Span(0, 0, 0, epoch=0)
    assert [state.spans for state in states] == [
        {partition: Span(0, 0, 10, epoch=0), other: none},
        {partition: Span(0, 10, 15, epoch=0), other: none},
    ]
    assert {state.identity.pid for state in states} == {os.getpid()}
    assert load().properties[state_property(name)] == states[1].to_json()
    assert pipelines.land(spark, path) == Landed()
    assert len(load().snapshots()) == 2


def test_bounds_are_kept_for_a_table_of_300_columns(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    """Iceberg keeps metrics of the first 100 columns, unless it is told of others."""
    columns = [{"name": f"c{n}", "type": ["null", "int"], "default": None} for n in range(300)]
    schema = {"type": "record", "name": "tv.Wide", "fields": columns}
    pipelines.send(name, [KafkaRecord(b'{"c299":1}', b"k", (), T0_MS + n) for n in range(3)])
    pipelines.land(spark, pipelines.table(name, name, schema))
    (said,) = bounds(load())
    (partition,) = {place for place, _ in places(load())}
    assert said == {
        contract.INGESTION_TS: (T0_MS * 1000, (T0_MS + 2) * 1000),
        contract.PARTITION: (partition, partition),
        contract.OFFSET: (0, 2),
    }


def test_without_its_checkpoint_nothing_is_doubled_or_lost(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    path = pipelines.table(name, name)
    pipelines.send(name, map(event, range(20)))
    pipelines.land(spark, path)
    shutil.rmtree(checkpoint_of(pipelines, name))
    assert pipelines.land(spark, path) == Landed()
    shutil.rmtree(checkpoint_of(pipelines, name))
    pipelines.send(name, map(event, range(20, 25)))
    assert pipelines.land(spark, path).rows == 5
    assert len(places(load())) == len(set(places(load()))) == 25
    assert sorted(str(row["id"]) for row in rows(load())) == sorted(map(str, range(25)))


LISTS = {
    "type": "record",
    "name": "tv.Lists",
    "fields": [
        {"name": "words", "type": {"type": "array", "items": "string"}},
        {
            "name": "points",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Point",
                    "fields": [
                        {"name": "x", "type": "int"},
                        {"name": "unit", "type": "string", "default": "m"},
                    ],
                },
            },
        },
    ],
}
POISON: dict[bytes | None, bytes] = {
    None: b"the record has no value",
    b"": b"not a JSON object: Input data was truncated",
    b"\xff": b"the value is not UTF-8",
    b'{"words":null,"points":[]}': b"words: expected array, got null",
    # The table's lists hold no null.
    b'{"words":["a",null],"points":[]}': b"words[1]: expected str, got null",
    b'{"words":[],"points":[{}]}': b"points[0].x is missing",
}


def test_poison_goes_to_the_quarantine_and_the_rest_lands(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    good = b'{"words":["a"],"points":[{"x":1}]}'
    own = (("trace", b"\xfe"), ("trace", None))
    pipelines.send(name, [KafkaRecord(value, b"k", own, T0_MS) for value in (good, *POISON, good)])
    path = pipelines.table(name, name, LISTS)
    assert pipelines.land(spark, path) == Landed(commits=1, rows=2, quarantined=len(POISON))
    assert [row["points"] for row in rows(load())] == [[{"x": 1, "unit": "m"}]] * 2
    kept = pipelines.seen(f"{name}.quarantine", "fronting")
    assert {one.value: one.header(contract.QUARANTINE_EXCEPTION_MESSAGE) for one in kept} == POISON
    assert {one.key for one in kept} == {b"k"}
    assert {one.headers[:2] for one in kept} == {own}
    # Its own time: what is replayed from a quarantine lands where it belongs.
    assert {one.timestamp_ms for one in kept} == {T0_MS}
    # A batch of nothing but poison is a commit too: what it read is not read again.
    pipelines.send(name, [KafkaRecord(b"[]", b"k")])
    assert pipelines.land(spark, path) == Landed(commits=1, quarantined=1)
    shutil.rmtree(checkpoint_of(pipelines, name))
    assert pipelines.land(spark, path) == Landed()
    assert len(pipelines.seen(f"{name}.quarantine", "fronting")) == len(POISON) + 1


def test_a_table_that_stops_at_a_bad_record_says_which(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    pipelines.send(name, [KafkaRecord(event(1), b"k"), KafkaRecord(None, b"k")])
    path = pipelines.table(name, name, hygiene={"on_bad_record": "fail"})
    said = rf"stops at a rejected record: {name}-\d @ 1: the record has no value"
    with pytest.raises(HeadraceError, match=said):
        pipelines.land(spark, path)
    assert load().current_snapshot() is None


def test_raw_lands_any_bytes(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    pipelines.send(
        name, [KafkaRecord(b"\xff\x00", b"k"), KafkaRecord(None, b"k"), KafkaRecord(b"", b"k")]
    )
    source = {"type": "kafka", "cluster": "fronting", "topic": name, "format": "raw"}
    pipelines.land(spark, pipelines.table(name, name, source=source))
    assert [(row["key"], row["value"]) for row in sorted(rows(load()), key=repr)] == [
        (b"k", None),
        (b"k", b""),
        (b"k", b"\xff\x00"),
    ]


def test_a_table_with_other_columns_is_refused_by_name(
    spark: SparkSession, pipelines: Pipelines, name: str
) -> None:
    pipelines.land(spark, pipelines.table(name, name))
    fields = [
        {"name": "id", "type": "string"},
        {"name": "kind", "type": ["null", "string"], "default": None},
        {"name": "more", "type": ["null", "int"], "default": None},
    ]
    other = pipelines.table(name, name, {**EVENT_SCHEMA, "fields": fields})
    with pytest.raises(Terminal) as refused:
        pipelines.land(spark, other)
    assert str(refused.value) == (
        f"table lake.tv.{name} does not fit the schema: id is long, but the schema has string;"
        " it would have to allow null in at, which the schema no longer has;"
        " it would have to add more (int)\n"
        "  → name another table, or make the schema and the table agree"
    )


def test_a_second_writer_is_told_who_runs(
    spark: SparkSession, pipelines: Pipelines, name: str
) -> None:
    lock = pipelines.workspace.state_dir / "lake_writer" / name / "lock"
    with (
        hold(lock, "it", ""),
        pytest.raises(AlreadyRunning, match=rf"lake writer {name} already runs \(pid \d+\)"),
    ):
        pipelines.land(spark, pipelines.table(name, name))


def checkpoint_of(pipelines: Pipelines, name: str) -> Path:
    return pipelines.workspace.state_dir / "lake_writer" / name / "checkpoint"
