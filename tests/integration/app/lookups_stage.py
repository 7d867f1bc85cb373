"""A topic of plays, landed, and a table of titles that changes while they arrive."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest, new_run_id
from headrace.application.select import of_the_past, smallest_threshold
from headrace.config.load import load_app
from headrace.kafka.sender import KafkaRecord
from headrace.signals import Drain
from stream_app.live import live_sources, run_live
from tests.integration.live import until_drained

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from backfill.run.certificate import Certificate
    from headrace.config.load import LoadedApp
    from tests.integration.pipelines import Pipelines

TITLES: Final = Schema(
    NestedField(1, "title_id", LongType(), required=False),
    NestedField(2, "category", StringType(), required=False),
    NestedField(3, "notes", StringType(), required=False),
)
BY_TITLE: Final = "SELECT p.id, t.category FROM plays p LEFT JOIN titles t ON p.id % 2 = t.title_id"
PERIOD: Final = parse_period("2020-01-01", "2100-01-01")


@dataclass
class Stage:
    """Everything that one test has of its own, under one name."""

    spark: SparkSession
    pipelines: Pipelines
    catalog: Catalog
    name: str
    lookups: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pipelines.make_topic(self.name)
        self.table = self.pipelines.table(self.name, self.name)
        self.lookups = self.lookups or {"titles": self.lookup("titles")}

    def lookup(self, name: str, **more: object) -> dict[str, Any]:
        table = f"{self.name}_{name}"
        return {"type": "iceberg", "catalog": "lake", "database": "tv", "table": table, **more}

    def titles(self, name: str = "titles") -> Table:
        self.catalog.create_namespace_if_not_exists("tv")
        return self.catalog.create_table_if_not_exists(("tv", f"{self.name}_{name}"), TITLES)

    def say(self, categories: Mapping[int, str], name: str = "titles") -> int:
        """Let a table of titles be these from now on; returns when that is, in milliseconds."""
        table = self.titles(name)
        rows = [{"title_id": key, "category": value} for key, value in categories.items()]
        given = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
        if table.current_snapshot() is None:
            table.append(given)
        else:
            table.overwrite(given)
        head = table.refresh().current_snapshot()
        if head is None:
            raise AssertionError("the table has rows")
        return head.timestamp_ms

    def play(self, at_ms: Mapping[int, int]) -> None:
        """Send plays, each with the time at which it arrives."""
        self.pipelines.send(
            self.name,
            [
                KafkaRecord(
                    json.dumps({"id": number, "kind": "play", "at": at}).encode(), timestamp_ms=at
                )
                for number, at in at_ms.items()
            ],
        )

    def land(self) -> None:
        self.pipelines.land(self.spark, self.table)

    def app(self, query: str = BY_TITLE, suffix: str = "", **more: object) -> LoadedApp:
        name = f"{self.name}{suffix}"
        live = {"type": "kafka", "cluster": "fronting", "topics": self.name, "format": "json"}
        past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": self.name}
        candidates = {"type": "dynamic", "selected": "live", "candidates": ["live", "past"]}
        path = self.pipelines.write(
            f"apps/{name}.yaml",
            {
                "kind": "app",
                "name": name,
                "sources": {
                    "plays": candidates,
                    "live": {**live, "schema": f"schemas/{self.name}.avsc"},
                    "past": past,
                },
                "lookups": self.lookups,
                "transform": {"sql": query},
                "sink": {"type": "jsonl", "path": f"out/{name}"},
                **more,
            },
        )
        return load_app(path, self.pipelines.workspace)

    def run_live(self, app: LoadedApp) -> dict[int, Any]:
        """Run to where the topic ends; returns what came out of this run and those before."""
        live = live_sources(app, {})
        run_live(app, self.pipelines.workspace, self.spark, live, Drain(), once=True)
        return self.rows(app)

    @contextlib.contextmanager
    def running(self, app: LoadedApp) -> Iterator[None]:
        """Let an application run until the block is left; what ended it is raised."""
        live = live_sources(app, {})
        with until_drained(
            lambda drain: run_live(
                app, self.pipelines.workspace, self.spark, live, drain, once=False
            )
        ):
            yield

    def replay(self, app: LoadedApp) -> tuple[dict[int, Any], Certificate]:
        """Replay all that is landed; returns what came out of it alone."""
        request = ReplayRequest(
            tuple(tables_of(app).values()),
            PERIOD,
            (),
            "bounded",
            round(smallest_threshold(of_the_past(app.config).values()).total_seconds() * 1_000_000),
            lookups=app.config.lookups,
        )
        before = set(self.files(app))
        run = AppRun(app, self.pipelines.workspace, new_run_id())
        certificate = replay_app(run, request, self.spark, Drain())
        return self.rows(app, skip=before), certificate

    def files(self, app: LoadedApp) -> list[Path]:
        return sorted((self.pipelines.workspace.root / "out" / app.config.name).glob("*.jsonl"))

    def rows(self, app: LoadedApp, skip: set[Path] | None = None) -> dict[int, Any]:
        """Return what became of each play: its row without its number."""
        found: dict[int, Any] = {}
        for path in self.files(app):
            if skip is None or path not in skip:
                for line in path.read_text(encoding="utf-8").splitlines():
                    row = json.loads(line)
                    number = row.pop("id")
                    if number in found:
                        raise AssertionError(f"{number} came twice")
                    found[number] = row
        return found


def categories(rows: Mapping[int, Any]) -> dict[int, str | None]:
    """Return the category that each play came out with."""
    return {number: row.get("category") for number, row in sorted(rows.items())}
