"""Records that were dropped as late are counted one by one, whatever drops them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest, new_run_id
from headrace.application.late_rows import DroppedLate
from headrace.application.select import of_the_past, smallest_threshold
from headrace.config.load import load_app
from headrace.contract import with_metadata
from headrace.metrics.definitions import RECORDS_IN, WATERMARK
from headrace.schema.arrow import to_arrow
from headrace.schema.model import Field, Primitive, Record
from headrace.signals import Drain
from headrace.times import format_time_us
from stream_app.live import live_sources, run_live
from tests.integration.backfill.lake_tables import DAY, EVENT, Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from backfill.run.certificate import Certificate
    from backfill.run.facts import ReplayFacts
    from headrace.config.load import LoadedApp
    from stream_app.facts import AppFacts
    from tests.integration.pipelines import Pipelines

# So many records in a row are a day old when they arrive, in the middle of an hour.
LATE = range(1800, 1820)
BY_MINUTE = (
    "SELECT window.start AS minute, count(*) AS n FROM events GROUP BY window(at, '1 minute')"
)


@dataclass
class Table:
    """A record every ten seconds of an hour; some are a day old when they arrive."""

    spark: SparkSession
    pipelines: Pipelines
    catalog: Catalog
    name: str
    shown: list[ReplayFacts] = field(default_factory=list)

    def __post_init__(self) -> None:
        make_table(self.catalog, self.name, [], at="at")
        rows = []
        for number in range(0, 3600, 10):
            stored = Stored(0, number, number)
            rows.append(stored.row("at"))
        for number in LATE:
            late = DAY - timedelta(days=1) + timedelta(seconds=number)
            rows.append({**Stored(1, number, number).row("at"), "at": late})
        at = Field("at", Primitive.TIMESTAMP_MICROS, nullable=True)
        schema = to_arrow(with_metadata(Record(EVENT.name, (*EVENT.fields, at))))
        self.catalog.load_table(("replays", self.name)).append(
            pa.Table.from_pylist(rows, schema=schema)
        )

    def app(self, query: str, **more: object) -> LoadedApp:
        path = self.pipelines.write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": {
                    "events": {
                        "type": "iceberg",
                        "catalog": "lake",
                        "database": "replays",
                        "table": self.name,
                        "max_misalignment_threshold": "10min",
                        **more,
                    }
                },
                "transform": {"sql": query},
                "watermarks": {"events": {"column": "at", "delay": "10s"}},
                "sink": {"type": "jsonl", "path": f"out/{self.name}"},
            },
        )
        return load_app(path, self.pipelines.workspace)

    def replay(self, app: LoadedApp) -> Certificate:
        threshold = smallest_threshold(of_the_past(app.config).values()) // timedelta(
            microseconds=1
        )
        period = parse_period("2026-03-01", "2026-03-02")
        request = ReplayRequest(tuple(tables_of(app).values()), period, (), "bounded", threshold)
        run = AppRun(app, self.pipelines.workspace, new_run_id())
        return replay_app(run, request, self.spark, Drain(), self.shown.append)


@pytest.fixture
def table(
    spark: SparkSession, pipelines: Pipelines, lake_catalog: Catalog, unique: Callable[[str], str]
) -> Table:
    return Table(spark, pipelines, lake_catalog, unique("late"))


def test_a_certificate_counts_records_and_not_the_groups_that_spark_made_of_them(
    table: Table,
) -> None:
    certificate = table.replay(table.app(BY_MINUTE))
    assert certificate.dropped_late == len(LATE)
    assert f"{len(LATE)} records were dropped as late" in certificate.differences()
    ((told,),) = (facts.replays() for facts in table.shown)
    assert (told.steps_done, told.rows) == (told.steps, told.rows_planned)
    assert told.rows == certificate.rows


@pytest.mark.long
def test_a_followed_table_says_what_was_dropped_of_it(table: Table) -> None:
    app = table.app(BY_MINUTE, follow={"max_rows": 60})
    shown: list[AppFacts] = []
    workspace, live = table.pipelines.workspace, live_sources(app, {})
    ran = run_live(app, workspace, table.spark, live, Drain(), once=True, show=shown.append)
    assert ran.dropped_late == DroppedLate(len(LATE))
    ((facts,), labels) = shown, {"app": table.name}
    told = {one.metric.name: one for one in facts.samples()}
    assert (told[RECORDS_IN.name].labels, told[RECORDS_IN.name].value) == (labels, ran.rows)
    ((source,),) = (row.sources for row in facts.apps())
    watermark = told[WATERMARK.name]
    assert watermark.labels == {**labels, "source": "events"}
    assert isinstance(watermark.value, float)
    assert source.watermark == format_time_us(round(watermark.value * 1_000_000))
