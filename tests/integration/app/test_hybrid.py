"""History from the lake, then live from the very next offset: each record once, in order."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from backfill.run.request import state_of
from headrace.application.late_rows import DroppedLate
from headrace.config.app.file import IcebergSource, KafkaTopics
from headrace.config.load import load_app
from headrace.errors import Terminal, UsageError
from headrace.iceberg.catalog import load_table
from headrace.kafka.sender import KafkaRecord
from headrace.signals import Drain
from stream_app.hybrid import Pair, hand_over
from stream_app.live import live_sources, run_live
from tests.integration.app.hybrid_events import PARTITIONS, START_MS, records
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.config.load import LoadedApp
    from stream_app.live import LiveRun
    from tests.integration.pipelines import Pipelines


@dataclass
class Hybrid:
    """A topic, landed in part, and an application that begins with the table."""

    spark: SparkSession
    pipelines: Pipelines
    name: str

    def app(
        self, query: str, name: str = "", order: str = "bounded", *, beside: bool = False
    ) -> LoadedApp:
        live = {"type": "kafka", "cluster": "fronting", "topics": self.name, "format": "json"}
        past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": self.name}
        path = self.pipelines.write(
            f"apps/{self.name}{name}.yaml",
            {
                "kind": "app",
                "name": f"{self.name}{name}",
                "sources": {
                    "events": {
                        "type": "dynamic",
                        "selected": "both",
                        "candidates": ["both", "live"],
                    },
                    "both": {"type": "hybrid", "past": "past", "live": "live", "order": order},
                    "live": {**live, "schema": f"schemas/{self.name}.avsc"},
                    "past": {**past, "max_misalignment_threshold": "1min"},
                    # The same topic once more, which has no table to be replayed from.
                    **(
                        {"plain": {**live, "schema": f"schemas/{self.name}.avsc"}} if beside else {}
                    ),
                },
                "transform": {"sql": query},
                "watermarks": {"events": {"column": "at", "delay": "10s"}},
                "sink": {"type": "jsonl", "path": f"out/{self.name}{name}"},
            },
        )
        return load_app(path, self.pipelines.workspace)

    def send(self, numbers: range) -> None:
        self.pipelines.send(self.name, records(numbers))

    def land(self) -> None:
        self.pipelines.land(self.spark, self.pipelines.table(self.name, self.name))

    def run(self, app: LoadedApp, **choices: str) -> int:
        return self._ran(app, **choices).rows

    def dropped(self, app: LoadedApp) -> DroppedLate:
        return self._ran(app).dropped_late

    def _ran(self, app: LoadedApp, **choices: str) -> LiveRun:
        live = live_sources(app, choices)
        return run_live(app, self.pipelines.workspace, self.spark, live, Drain(), once=True)

    def lines(self, app: LoadedApp) -> list[dict[str, int]]:
        """Return what came out, in the order in which it did."""
        folder = self.pipelines.workspace.root / "out" / app.config.name
        files = sorted(folder.glob("*.json*"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]


@pytest.fixture
def hybrid(spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]) -> Hybrid:
    name = unique("hybrid")
    pipelines.make_topic(name, PARTITIONS)
    return Hybrid(spark, pipelines, name)


PLACES = "SELECT id, __metadata__.partition AS part, __metadata__.offset AS place FROM events"


def test_each_record_once_and_in_order_over_the_hand_over(hybrid: Hybrid) -> None:
    hybrid.send(range(300))
    hybrid.land()
    hybrid.send(range(300, 400))
    app = hybrid.app(PLACES)
    assert hybrid.run(app) == 400
    # Landed or not, what comes later is read from the topic alone.
    hybrid.send(range(400, 450))
    hybrid.land()
    hybrid.send(range(450, 500))
    assert hybrid.run(app) == 100
    seen = hybrid.lines(app)
    assert Counter(one["id"] for one in seen) == dict.fromkeys(range(500), 1)
    for number in range(PARTITIONS):
        # In bounded order the history is in order but for the threshold; what is live, exactly.
        live = [one["place"] for one in seen if one["part"] == number and one["id"] >= 300]
        assert live == sorted(live)
    with pytest.raises(UsageError, match="was started with both for events"):
        hybrid.run(app, events="live")


def test_a_strict_history_comes_by_its_offsets(hybrid: Hybrid) -> None:
    # By their times they would come the other way round.
    hybrid.pipelines.send(hybrid.name, records(reversed(range(300))))
    hybrid.land()
    hybrid.send(range(300, 400))
    app = hybrid.app(PLACES, order="strict")
    assert hybrid.run(app) == 400
    seen = hybrid.lines(app)
    for number in range(PARTITIONS):
        places = [one["place"] for one in seen if one["part"] == number]
        assert places == list(range(400 // PARTITIONS))


def test_killed_while_it_decides_where_to_hand_over_it_decides_anew(hybrid: Hybrid) -> None:
    hybrid.send(range(10))
    hybrid.land()
    app, workspace = hybrid.app(PLACES), hybrid.pipelines.workspace
    sources = app.config.sources
    past, live = sources["past"], sources["live"]
    assert isinstance(past, IcebergSource)
    assert isinstance(live, KafkaTopics)
    run_id = f"hybrid-{app.config.name}"
    hand_over(workspace, {"events": Pair(past, live)}, run_id, fresh=True)
    # What a kill leaves between the plan and the places that belong to it.
    handover = state_of(workspace, run_id).folder / "handover.json"
    kept = handover.read_bytes()
    handover.unlink()
    hybrid.send(range(10, 30))
    hybrid.land()
    hybrid.send(range(30, 40))
    hand_over(workspace, {"events": Pair(past, live)}, run_id, fresh=True)
    (planned,) = state_of(workspace, run_id).plan().sources
    refs = load_table(workspace, past.identifier).metadata.refs
    assert refs[f"headrace-replay-{run_id}"].snapshot_id == planned.snapshot_id
    assert hybrid.run(app) == 40
    assert Counter(one["id"] for one in hybrid.lines(app)) == dict.fromkeys(range(40), 1)
    # A query that has begun goes by what was decided then, and by nothing else.
    assert handover.read_bytes() != kept
    handover.unlink()
    with pytest.raises(
        Terminal, match=r"the offsets where .* continues after its history are lost"
    ):
        hybrid.run(app)


COUNTS = """
SELECT window.start AS minute, count(*) AS events FROM events GROUP BY window(at, '1 minute')
"""


def test_state_is_carried_over(hybrid: Hybrid) -> None:
    # The hand-over is within a minute whose window is still open.
    hybrid.send(range(330))
    hybrid.land()
    hybrid.send(range(330, 600))
    app = hybrid.app(COUNTS)
    assert hybrid.run(app) == 600
    counted = [one["events"] for one in hybrid.lines(app)]
    assert len(counted) >= 7
    assert set(counted) == {60}


def test_beside_a_plain_topic_and_as_wide_as_its_own_history_asks(hybrid: Hybrid) -> None:
    hybrid.send(range(600))
    hybrid.land()
    both = "SELECT id, 'h' AS of FROM events UNION ALL SELECT id, 'p' AS of FROM plain"
    app = hybrid.app(both, beside=True)
    assert hybrid.run(app) == 1200
    assert Counter(one["id"] for one in hybrid.lines(app)) == dict.fromkeys(range(600), 2)
    plan = state_of(hybrid.pipelines.workspace, f"hybrid-{app.config.name}").plan()
    (watermark,) = plan.watermarks
    assert watermark.source == "events"
    assert watermark.widened_by_us is not None
    # Some steps of a minute each: their records are no more than that ahead of those that follow.
    assert len(plan.steps) > 5
    assert watermark.widened_by_us <= plan.threshold_us


def test_what_is_neither_in_the_table_nor_in_the_topic_is_told_before_anything_runs(
    hybrid: Hybrid,
) -> None:
    hybrid.send(range(100))
    hybrid.land()
    app = hybrid.app(PLACES)
    hybrid.send(range(100, 200))
    cluster = hybrid.pipelines.workspace.cluster("fronting")
    admin = AdminClient(dict(cluster.client_properties()))
    place = TopicPartition(hybrid.name, 1, 60)
    admin.delete_records([place])[place].result(LIMIT_S)
    with pytest.raises(Terminal, match=rf"records are missing .*: {hybrid.name}-1 @ 50 to 59"):
        hybrid.run(app)
    assert hybrid.lines(app) == []


@pytest.mark.long
def test_late_records_are_counted_one_by_one_in_the_history_and_by_group_in_the_topic(
    hybrid: Hybrid,
) -> None:
    def late(numbers: range) -> None:
        """Send records that are a day old when they come."""
        days_old = [
            KafkaRecord(one.value, timestamp_ms=START_MS + n * 1_000, partition=0)
            for n, one in zip(numbers, records(range(-86_400, -86_400 + len(numbers))), strict=True)
        ]
        hybrid.pipelines.send(hybrid.name, days_old)

    hybrid.send(range(300))
    late(range(300, 320))
    hybrid.send(range(320, 600))
    hybrid.land()
    app = hybrid.app(
        "SELECT window.start AS m, count(*) AS n FROM events GROUP BY window(at, '1 minute')"
    )
    assert hybrid.dropped(app) == DroppedLate(20)
    late(range(600, 630))
    assert hybrid.dropped(app) == DroppedLate(1, is_exact=False)
