from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from headrace import contract
from headrace.iceberg.catalog import load_table
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord
from router.ledger.entries import Counts
from router.ledger.places import ReadTopic
from tests.integration.pipelines import Pipelines, event
from tests.integration.router.live_router import ledger_of, ledger_topic_of
from tests.unit.router.workspaces import invoke

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


BAD = b"\xff"
BEYOND_MS = 2**62


@pytest.fixture
def topic(pipelines: Pipelines, unique: Callable[[str], str]) -> str:
    name = unique("tabled")
    pipelines.make_topic(name, partitions=2)
    return name


def test_an_output_that_is_a_table_has_each_record_once(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    table = {"type": "iceberg", "catalog": "lake", "database": "routed", "table": topic}
    output = {
        "name": "lake",
        "filter": "id <> 3",
        "project": ["id", "upper(kind) AS kind", "10 div (id - 5) AS quotient"],
        "sink": table,
    }
    pipelines.send(topic, [*(event(number) for number in range(10)), BAD])
    stream = pipelines.stream(topic, [output])
    counts = pipelines.route(spark, stream)["lake"]
    # One that is filtered, one that divides by zero, one that is no record at all.
    assert counts == Counts(11, written=8, filtered=1, quarantined=2)
    kept = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert {one.value for one in kept} == {BAD, event(5)}
    assert {one.header(contract.QUARANTINE_STAGE) for one in kept} == {
        b"VALUE_CONVERTER",
        b"TRANSFORMATION",
    }
    # A crash between the table's commit and the ledger: the batch is done again.
    history = ledger_of(pipelines, topic, "lake").history
    places = {number: own[0] for number, own in history.items()}
    kafka = KafkaCluster(pipelines.workspace.cluster("fronting"))
    read = ReadTopic("fronting", topic, kafka.topic_id(topic))
    with contextlib.closing(ledger_topic_of(pipelines, topic)) as ledger:
        ledger.write(read, {f"lake > {topic}": places})
    pipelines.send(topic, [event(11)])
    assert pipelines.route(spark, stream)["lake"].written == 9
    rows = load_table(pipelines.workspace, f"lake.routed.{topic}").scan().to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == [0, 1, 2, 4, 6, 7, 8, 9, 11]
    assert {row["kind"] for row in rows} == {"START"}
    assert {row["__metadata__"]["topic"] for row in rows} == {topic}


def test_without_a_time_a_record_is_bad_for_a_stream_that_writes_a_table(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    """And for its other outputs too: a bad record is bad for the whole stream."""
    table = {"type": "iceberg", "catalog": "lake", "database": "routed", "table": topic}
    outputs: list[dict[str, object]] = [{"name": "lake", "sink": table}, {"name": "out"}]
    times = {0: None, 1: -1, 2: BEYOND_MS, 3: 1}
    pipelines.send(
        topic, [KafkaRecord(event(number), timestamp_ms=at) for number, at in times.items()]
    )
    path = pipelines.stream(topic, outputs)
    counts = pipelines.route(spark, path)
    whole = Counts(4, written=2, quarantined=2)
    assert (counts["lake"], counts["out"]) == (whole, whole)
    assert counts["quarantine"] == Counts(4, filtered=2, quarantined=2)
    kept = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert {one.value: one.timestamp_ms for one in kept} == {event(1): -1, event(2): BEYOND_MS}
    listed = invoke("quarantine list", path, workspace=pipelines.workspace.root).stdout
    assert "it has no timestamp (-1)" in " ".join(listed.split())
    assert "1969" not in listed
    audited = invoke("audit", path, workspace=pipelines.workspace.root)
    assert audited.return_value == 0, audited.stdout
    rows = load_table(pipelines.workspace, f"lake.routed.{topic}").scan().to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == [0, 3]
