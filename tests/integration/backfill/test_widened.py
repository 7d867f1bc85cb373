"""After an outage: an hour of events that arrived within two minutes, replayed, and nothing dropped."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.options import tables_of
from backfill.run.pace import Rate
from backfill.run.request import ReplayRequest, new_run_id, state_of
from headrace.config.load import load_app
from headrace.contract import with_metadata
from headrace.schema.arrow import to_arrow
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record
from headrace.signals import Drain
from headrace.times import parse_time_us
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from backfill.plan.plan import Plan
    from backfill.run.certificate import Certificate
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
START_US = parse_time_us("2026-03-01T12:00:00Z")
OUTAGE_US, FLUSH_US = 60 * MINUTE_US, 2 * MINUTE_US
THRESHOLD_US = 15 * MINUTE_US
FILES = 4
EVENT = with_metadata(
    Record(
        "Event",
        (
            Field("id", Primitive.LONG, nullable=False),
            Field("at", Primitive.TIMESTAMP_MICROS, nullable=True),
        ),
    )
)
BY_MINUTE = (
    "SELECT window.start AS minute, count(*) AS n FROM events GROUP BY window(at, '1 minute')"
)


def event_us(number: int, events: int) -> int:
    """Return when an event happened: evenly within the hour that ends when the first arrives."""
    return START_US - OUTAGE_US + number * OUTAGE_US // events


@dataclass
class Flushed:
    """A table with what arrived after the outage, in files that lie side by side, and an application."""

    spark: SparkSession
    workspace: Workspace
    name: str
    events: int

    def land(self, catalog: Catalog) -> None:
        """Write the events in the order in which they happened and arrived, dealt out to files."""
        schema, properties = to_iceberg(EVENT)
        catalog.create_namespace_if_not_exists("flushed")
        table = catalog.create_table(("flushed", self.name), schema, properties=properties)
        for number in range(FILES):
            ids = pa.array(range(number, self.events, FILES), pa.int64())
            whole = pa.scalar(self.events, pa.int64())
            happened = pc.add(pc.divide(pc.multiply(ids, OUTAGE_US), whole), START_US - OUTAGE_US)
            arrived = pc.add(pc.divide(pc.multiply(ids, FLUSH_US), whole), START_US)
            times = pa.timestamp("us", "UTC")
            arrow = to_arrow(EVENT)
            metadata = arrow.field("__metadata__").type
            columns: dict[str, pa.Array] = {
                "kafka_ingestion_ts": arrived.cast(times),
                "topic": pa.repeat(pa.scalar("t"), len(ids)),
                "partition": pa.repeat(pa.scalar(number, pa.int32()), len(ids)),
                "offset": ids,
                "region": pa.nulls(len(ids), pa.string()),
            }
            held = pa.StructArray.from_arrays(
                [columns[field.name].cast(field.type) for field in metadata], fields=list(metadata)
            )
            rows = {"id": ids, "at": happened.cast(times), "__metadata__": held}
            table.append(pa.Table.from_pydict(rows, schema=arrow))

    def app(self) -> LoadedApp:
        table = {"type": "iceberg", "catalog": "lake", "database": "flushed", "table": self.name}
        path = Pipelines(self.workspace).write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": {"events": {**table, "max_misalignment_threshold": "15min"}},
                "transform": {"sql": BY_MINUTE},
                "watermarks": {"events": {"column": "at", "delay": "10min"}},
                "sink": {"type": "jsonl", "path": f"out/{self.name}"},
            },
        )
        return load_app(path, self.workspace)

    def replay(self, rate: Rate | None, widen_by_us: int | None = None) -> tuple[Certificate, Plan]:
        app, run_id = self.app(), new_run_id()
        request = ReplayRequest(
            tuple(tables_of(app).values()),
            parse_period("2026-03-01", "2026-03-02"),
            (),
            "bounded",
            THRESHOLD_US,
            # How large a step may be; the run itself is not slowed down.
            rate=rate,
            close_windows=True,
            widen_by_us=widen_by_us,
        )
        run = AppRun(app, self.workspace, run_id)
        certificate = replay_app(run, request, self.spark, Drain())
        return certificate, state_of(self.workspace, run_id).plan()

    def counts(self) -> Counter[int]:
        """Return how many events each minute has by the application, and forget them."""
        found: Counter[int] = Counter()
        for file in (self.workspace.root / "out" / self.name).glob("*.jsonl"):
            for line in file.read_text().splitlines():
                row = json.loads(line)
                found[parse_time_us(row["minute"])] += row["n"]
            file.unlink()
        return found

    def expected(self) -> Counter[int]:
        """Return how many there are, by plain counting."""
        times = (event_us(number, self.events) for number in range(self.events))
        return Counter(time - time % MINUTE_US for time in times)


def test_no_record_that_was_in_time_is_dropped_after_an_outage(
    spark: SparkSession, workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]
) -> None:
    flushed = Flushed(spark, workspace, unique("flush"), 100_000)
    flushed.land(lake_catalog)
    a_file_a_step = Rate(flushed.events // FILES // 10, "rows")
    certificate, plan = flushed.replay(a_file_a_step)
    assert len(plan.steps) == FILES + 1
    (watermark,) = plan.watermarks
    # The first file reaches to the hour's end; the next step begins with its beginning.
    assert watermark.widened_by_us is not None
    assert OUTAGE_US - 11 * MINUTE_US < watermark.widened_by_us <= OUTAGE_US
    assert watermark.cause is not None
    assert watermark.cause.step == 1
    assert certificate.dropped_late == 0
    assert flushed.counts() == flushed.expected()

    # As wide as the threshold is not wide enough, and that is what whoever says so gets.
    certificate, plan = flushed.replay(a_file_a_step, THRESHOLD_US)
    assert plan.watermarks[0].is_given
    assert certificate.dropped_late
    assert flushed.counts().total() < flushed.events


@pytest.mark.long
def test_four_million_after_an_outage(
    spark: SparkSession,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    flushed = Flushed(spark, workspace, unique("flush"), 4_194_304)
    flushed.land(lake_catalog)
    certificate, plan = flushed.replay(None)
    counted, expected = flushed.counts(), flushed.expected()
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what the run is for
            f"\n{certificate.rows:,} events in {len(plan.steps)} steps; watermark wider by"
            f" {(plan.watermarks[0].widened_by_us or 0) / MINUTE_US:.2f} min;"
            f" dropped {certificate.dropped_late}; counted {counted.total():,}"
        )
    assert certificate.rows == flushed.events
    assert certificate.dropped_late == 0
    assert counted == expected
