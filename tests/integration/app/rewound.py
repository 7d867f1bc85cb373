"""A windowed count in Spark's state over a topic of its own: something to take back."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.config.load import load_app
from headrace.kafka.sender import KafkaRecord
from headrace.signals import Drain
from stream_app.live import live_sources, run_live
from stream_app.rewind.rewinding import Rewind, RewindOptions, can_go_back_to, rewind, state_of_app

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.load import LoadedApp
    from stream_app.rewind.batches import Batch
    from tests.integration.pipelines import Pipelines

START_MS = 1_772_323_200_000
MINUTE_MS = 60_000
PARTITIONS = 2
RIGHT = """
SELECT window.start AS minute, kind, count(*) AS events
FROM events GROUP BY window(at, '1 minute'), kind
"""
# Counts less than there was, and so its state is wrong as well.
WRONG = RIGHT.replace("FROM events", "FROM events WHERE id % 3 <> 0")
Counts = Counter[tuple[int, str, int]]
Sources = dict[str, dict[str, str]]


@dataclass
class Job:
    """An application in the shared workspace, its records sent minute by minute."""

    spark: SparkSession
    pipelines: Pipelines
    name: str
    sink: dict[str, Any] = field(default_factory=dict)
    sent: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        schema = self.pipelines.table(self.name, self.name)
        assert schema.exists()
        self.pipelines.make_topic(self.name, PARTITIONS)
        self.sink = self.sink or {
            "type": "iceberg",
            "catalog": "lake",
            "database": "tv",
            "table": f"{self.name}_out",
        }

    def app(self, query: str = RIGHT, sources: Sources | None = None) -> LoadedApp:
        """Deploy a version of it."""
        live = {"type": "kafka", "cluster": "fronting", "topics": self.name, "format": "json"}
        path = self.pipelines.write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": sources or {"events": {**live, "schema": f"schemas/{self.name}.avsc"}},
                "transform": {"sql": query},
                "watermarks": {"events": {"column": "at", "delay": "30s"}},
                "sink": self.sink,
            },
        )
        return load_app(path, self.pipelines.workspace)

    def send(self, minutes: range) -> None:
        """Send six events of each minute, one of them half a minute late."""
        for minute in minutes:
            for number in range(6):
                at_ms = START_MS + minute * MINUTE_MS + number * 9_000
                late_ms = 30_000 if number == 5 else 0
                event = {"id": len(self.sent), "kind": "ab"[number % 2], "at": at_ms - late_ms}
                self.sent.append(event)
        events = self.sent[-6 * len(minutes) :]
        records = [
            KafkaRecord(
                json.dumps(event).encode(),
                timestamp_ms=event["at"],
                partition=event["id"] % PARTITIONS,
            )
            for event in events
        ]
        self.pipelines.send(self.name, records)

    def run(self, query: str = RIGHT, sources: Sources | None = None) -> int:
        """Run a version over what there is now."""
        app = self.app(query, sources)
        live, workspace = live_sources(app, {}), self.pipelines.workspace
        return run_live(app, workspace, self.spark, live, Drain(), once=True).rows

    def batches(self) -> tuple[Batch, ...]:
        return can_go_back_to(self.app(), self.pipelines.workspace).batches

    def rewind(self, to: object, **wish: bool) -> Rewind | None:
        workspace = self.pipelines.workspace
        return rewind(self.app(), workspace, RewindOptions(str(to), **wish), lambda _: None)

    @property
    def state(self) -> Path:
        return state_of_app(self.app(), self.pipelines.workspace)

    def table(self) -> Counts:
        name = f"lake.tv.{self.name}_out"
        # Another client has committed to it.
        self.spark.catalog.refreshTable(name)
        rows = self.spark.sql(
            f"SELECT unix_seconds(minute) DIV 60 AS m, kind, events FROM {name}"
        ).collect()
        return Counter((row["m"], row["kind"], row["events"]) for row in rows)

    def counted(self) -> Counts:
        """Return what the right version counts, in all windows that are closed."""
        newest = max(event["at"] for event in self.sent) - MINUTE_MS // 2
        counts: Counter[tuple[int, str]] = Counter()
        for event in self.sent:
            if event["at"] // MINUTE_MS < newest // MINUTE_MS:
                counts[event["at"] // MINUTE_MS, event["kind"]] += 1
        return Counter((minute, kind, count) for (minute, kind), count in counts.items())
