"""A record of the year 2099: what it does to a watermark, and what a bound does about it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest, new_run_id
from headrace.application.select import of_the_past, smallest_threshold
from headrace.config.load import load_app
from headrace.contract import QUARANTINE_EXCEPTION_MESSAGE
from headrace.kafka.sender import KafkaRecord
from headrace.signals import Drain
from stream_app.app_detail import app_detail
from stream_app.live import LiveRun, live_sources, run_live

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from backfill.run.certificate import Certificate
    from headrace.config.load import LoadedApp
    from tests.integration.pipelines import Pipelines

START_MS = 1_772_323_200_000
MINUTE_MS = 60_000
FAR_MS = 4_070_908_800_000
BY_MINUTE = """
SELECT window.start AS minute, count(*) AS events FROM events GROUP BY window(at, '1 minute')
"""


def at(minute: float, number: int) -> KafkaRecord:
    """Return an event that arrives when it happens."""
    at_ms = round(START_MS + minute * MINUTE_MS)
    value = json.dumps({"id": number, "kind": "a", "at": at_ms})
    return KafkaRecord(value.encode(), timestamp_ms=at_ms)


FAR = KafkaRecord(
    json.dumps({"id": -1, "kind": "far", "at": FAR_MS}).encode(),
    timestamp_ms=START_MS + 5 * MINUTE_MS,
)
BEFORE = [at(n / 10, n) for n in range(50)]
AFTER = [at(5 + n / 10, 50 + n) for n in range(50)]
CLOSER = at(60, 1_000)
WHOLE = Counter(dict.fromkeys(range(10), 10))


@dataclass
class Bounded:
    """An application over a topic, with a bound on what may be ahead or without one."""

    spark: SparkSession
    pipelines: Pipelines
    topic: str

    def app(self, name: str, **bound: str) -> LoadedApp:
        live = {"type": "kafka", "cluster": "fronting", "topics": self.topic, "format": "json"}
        path = self.pipelines.write(
            f"apps/{self.topic}_{name}.yaml",
            {
                "kind": "app",
                "name": f"{self.topic}_{name}",
                "sources": {
                    "events": {
                        "type": "dynamic",
                        "selected": "live",
                        "candidates": ["live", "past"],
                    },
                    "live": {**live, "schema": f"schemas/{self.topic}.avsc"},
                    "past": {
                        "type": "iceberg",
                        "catalog": "lake",
                        "database": "tv",
                        "table": self.topic,
                        "max_misalignment_threshold": "2min",
                    },
                },
                "transform": {"sql": BY_MINUTE},
                "watermarks": {"events": {"column": "at", "delay": "2min", **bound}},
                "sink": {
                    "type": "iceberg",
                    "catalog": "lake",
                    "database": "tv",
                    "table": f"{self.topic}_{name}",
                },
            },
        )
        return load_app(path, self.pipelines.workspace)

    def run(self, app: LoadedApp) -> LiveRun:
        workspace = self.pipelines.workspace
        return run_live(app, workspace, self.spark, live_sources(app, {}), Drain(), once=True)

    def replay(self, app: LoadedApp) -> Certificate:
        threshold_us = round(
            smallest_threshold(of_the_past(app.config).values()).total_seconds() * 1_000_000
        )
        period = parse_period("2020-01-01", "2100-01-01")
        request = ReplayRequest(tuple(tables_of(app).values()), period, (), "bounded", threshold_us)
        run = AppRun(app, self.pipelines.workspace, new_run_id())
        return replay_app(run, request, self.spark, Drain())

    def result(self, app: LoadedApp) -> Counter[int]:
        table = f"lake.tv.{app.config.name}"
        # Spark may know an older state of a table that it has not written itself.
        self.spark.sql(f"REFRESH TABLE {table}")
        query = f"SELECT unix_seconds(minute) DIV 60 - {START_MS // MINUTE_MS} AS m, events FROM {table}"
        return Counter({row["m"]: row["events"] for row in self.spark.sql(query).collect()})


@pytest.fixture
def bounded(spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]) -> Bounded:
    topic = unique("ahead")
    pipelines.make_topic(topic)
    pipelines.table(topic, topic)
    return Bounded(spark, pipelines, topic)


def test_it_makes_others_late_unless_there_is_a_bound_live_and_replayed(bounded: Bounded) -> None:
    free, kept = bounded.app("free"), bounded.app("kept", max_ahead="10min")
    for records in ([*BEFORE, FAR], [*AFTER, CLOSER]):
        bounded.pipelines.send(bounded.topic, records)
        bounded.run(free)
        ran = bounded.run(kept)
    # The watermark went to 2099: what came after it is lost.
    assert sum(bounded.result(free).values()) <= len(BEFORE)
    assert bounded.result(kept) == WHOLE
    assert ran.rejected == {"ahead": 1}
    workspace = bounded.pipelines.workspace
    told = app_detail(workspace, kept.config)
    assert (told.ahead, told.dropped_late, told.is_late_exact) == (1, 0, True)
    assert told.rows == len(AFTER) + 1
    (position,) = told.positions
    assert position.position == f"{bounded.topic} 0:{len(BEFORE) + len(AFTER) + 2}"
    assert told.state[0].rows > 0
    assert told.state[0].bytes > 0
    assert told.rewinds[0].obstacle is None
    lost = app_detail(workspace, free.config)
    # Of topics, what is dropped is counted after a first aggregation.
    assert 0 < (lost.dropped_late or 0) < len(AFTER)
    assert not lost.is_late_exact
    (far,) = bounded.pipelines.seen(f"{bounded.topic}.quarantine", "fronting")
    assert far.value == FAR.value
    assert b"at is too far ahead" in (far.header(QUARANTINE_EXCEPTION_MESSAGE) or b"")

    path = bounded.pipelines.table(bounded.topic, bounded.topic)
    bounded.pipelines.land(bounded.spark, path)
    again = bounded.app("again", max_ahead="10min", on_ahead="drop")
    certificate = bounded.replay(again)
    assert bounded.result(again) == WHOLE
    assert (certificate.ahead, certificate.dropped_late) == (1, 0)
    assert certificate.differences() == []


def test_a_record_too_far_ahead_can_stay_with_its_time_clamped(bounded: Bounded) -> None:
    clamping = bounded.app("clamping", max_ahead="10min", on_ahead="clamp")
    bounded.pipelines.send(bounded.topic, [*BEFORE, FAR])
    bounded.run(clamping)
    bounded.pipelines.send(bounded.topic, [*AFTER, CLOSER])
    ran = bounded.run(clamping)
    # The far one arrived at minute 5, and may be 10 minutes ahead.
    assert bounded.result(clamping) - WHOLE == {15: 1}
    assert ran.rejected == {"ahead": 1}
