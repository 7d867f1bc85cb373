"""Expressions mean what they mean in the Spark session of the workspace, compiled or not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from headrace.config.load import load_stream
from headrace.config.stream.effective import effective
from headrace.errors import Terminal
from headrace.iceberg.catalog import load_table
from headrace.kafka.sender import KafkaRecord
from router.ledger.entries import Counts
from router.plan.planner import Planner
from router.run.jobs import is_alone
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

UTC_AND_ANSI = {"spark.sql.session.timeZone": "Etc/UTC", "spark.sql.ansi.enabled": "TRUE"}
NEITHER = {"spark.sql.session.timeZone": "Asia/Kolkata", "spark.sql.ansi.enabled": "false"}
MIDNIGHT_MS = 1_772_323_200_000
HOUR_MS = 3_600_000
FILTER = "hour(at) < 12"
EXPRESSIONS = {
    "hour": "hour(at)",
    "day": "cast(cast(at AS date) AS string)",
    "text": "cast(at AS string)",
    "midnight": "unix_micros(date_trunc('day', at))",
    "literal": "unix_micros(TIMESTAMP '2026-03-01 00:00:00')",
    "parsed": "unix_micros(cast(cast(kind AS date) AS timestamp))",
    "number": "cast(kind AS int)",
    "quotient": "10 div (id - 6)",
    "sum": "id + 9223372036854775802",
}
KINDS = ("2026", "2026-03-01 12:30:00", "start", None)
# At 5, 10, 15, 20, 1, 6, 11 and 16 o'clock.
EVENTS = {
    number: (KINDS[(number - 1) % 4], MIDNIGHT_MS + 5 * number % 24 * HOUR_MS)
    for number in range(1, 9)
}


@pytest.fixture
def set_conf(spark: SparkSession) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Set the shared session's settings for the length of a test."""
    before = {name: str(spark.conf.get(name)) for name in NEITHER}

    def set_all(conf: Mapping[str, str]) -> None:
        for name, value in conf.items():
            spark.conf.set(name, value)

    yield set_all
    set_all(before)


@pytest.mark.parametrize(
    ("conf", "by_spark", "written"),
    [(UTC_AND_ANSI, False, 2), (NEITHER, True, 4)],
    ids=["compiled", "by Spark"],
)
def test_an_output_is_what_the_session_makes_of_the_records(
    spark: SparkSession,
    pipelines: Pipelines,
    unique: Callable[[str], str],
    set_conf: Callable[[Mapping[str, str]], None],
    conf: Mapping[str, str],
    by_spark: bool,
    written: int,
) -> None:
    set_conf(conf)
    settings = pipelines.workspace.spark.model_copy(update={"conf": conf})
    there = Pipelines(replace(pipelines.workspace, spark=settings))
    topic = unique("settings")
    there.make_topic(topic)
    there.send(
        topic,
        [KafkaRecord(event(n, kind, at=at), timestamp_ms=at) for n, (kind, at) in EVENTS.items()],
    )
    project = ["id", "at", *(f"{text} AS {name}" for name, text in EXPRESSIONS.items())]
    table = {"type": "iceberg", "catalog": "lake", "database": "routed", "table": topic}
    outputs: list[dict[str, object]] = [
        {"name": "out", "filter": FILTER, "project": project},
        {"name": "lake", "filter": FILTER, "project": project, "sink": table},
    ]
    # A table's expressions are always Spark's.
    outputs = outputs if by_spark else outputs[:1]
    path = there.stream(topic, outputs)
    plan = Planner(
        there.workspace, effective(load_stream(path, there.workspace), there.workspace, None)
    ).plan()
    assert [is_alone(outlet, plan) for outlet in plan.outlets] == [by_spark] * len(outputs)
    expected = {number: of_spark(spark, number) for number in EVENTS}
    passed = {number: values for number, values in expected.items() if values}
    failed = [number for number, values in expected.items() if values is None]
    assert len(passed) == written
    counts = there.route(spark, path)
    whole = Counts(8, written=written, filtered=8 - written - len(failed), quarantined=len(failed))
    assert [counts[str(one["name"])] for one in outputs] == [whole] * len(outputs)
    rows = [json.loads(one.value or b"") for one in there.seen(f"{topic}.out")]
    assert all(one["at"].endswith("Z") for one in rows)
    assert values_of(rows) == passed
    # Where an hour is shown differs; when it was does not.
    assert [datetime.fromisoformat(one["at"]) for one in rows] == [time_of(one) for one in rows]
    if by_spark:
        landed = load_table(there.workspace, f"lake.routed.{topic}").scan().to_arrow().to_pylist()
        assert values_of(landed) == passed
        times = [(one["at"], one["__metadata__"]["kafka_ingestion_ts"]) for one in landed]
        assert times == [(time_of(one), time_of(one)) for one in landed]


def values_of(rows: list[dict[str, Any]]) -> dict[int, dict[str, object]]:
    return {one["id"]: {name: one[name] for name in EXPRESSIONS} for one in rows}


def time_of(row: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(EVENTS[row["id"]][1] / 1000, UTC)


def test_what_the_workspace_does_not_say_and_the_session_has_is_refused(
    spark: SparkSession,
    pipelines: Pipelines,
    unique: Callable[[str], str],
    set_conf: Callable[[Mapping[str, str]], None],
) -> None:
    """Out of spark-defaults.conf, or SPARK_ANSI_SQL_MODE: what is compiled would not follow it."""
    set_conf({"spark.sql.ansi.enabled": "false"})
    topic = unique("settings")
    pipelines.make_topic(topic)
    path = pipelines.stream(topic, [{"name": "out", "project": ["10 div id AS quotient"]}])
    with pytest.raises(Terminal, match=r"spark\.sql\.ansi\.enabled is false in Spark's session"):
        pipelines.route(spark, path)


def of_spark(spark: SparkSession, number: int) -> dict[str, object] | None:
    """Return what Spark makes of a record: nothing where it is filtered, None where it fails."""
    kind, at_ms = EVENTS[number]
    row = spark.createDataFrame([(number, kind, at_ms)], "id long, kind string, ms long")
    given = row.selectExpr("id", "kind", "timestamp_millis(ms) AS at").where(FILTER)
    try:
        found = given.selectExpr(*(f"{text} AS {name}" for name, text in EXPRESSIONS.items()))
        return next((one.asDict() for one in found.collect()), {})
    except PySparkException:
        return None
