"""By how much watermarks are widened, read off real tables: manifests, footers, times without bounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backfill.command.plan_report import as_json, as_text
from backfill.command.planned import PlannedReplay
from backfill.plan.period import parse_period
from backfill.plan.plan import read_plan
from backfill.plan.steps import Limits
from backfill.plan.widening import Watermark
from backfill.read.batch_columns import arrivals_of
from backfill.run.planning import plan_of
from backfill.run.request import ReplayRequest
from backfill.run.watermarks import require_known
from headrace.application.ahead_of_time import Ahead, hold_back
from headrace.config.load import load_workspace
from headrace.contract import INGESTION_TS, with_metadata
from headrace.errors import UsageError
from headrace.iceberg.catalog import open_catalog
from headrace.schema.arrow import to_arrow
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record
from headrace.times import parse_time_us

if TYPE_CHECKING:
    from backfill.plan.plan import Plan
    from headrace.config.workspace.workspace import Workspace

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
MINUTE_US = 60_000_000
DAY_US = parse_time_us("2026-03-01")
EVENT = Record("Event", (Field("At", Primitive.TIMESTAMP_MICROS, nullable=True),))
LATER = 70 * 365 * 24 * 60
Files = list[list[tuple[float, float | None]]]
# Arrival and event, in minutes of the day. Two files side by side, after an hour's outage.
FLUSHED: Files = [[(60, 0), (61, 30), (62, 60)], [(60.1, 1), (61, 31), (62, 59)]]
PACED: Files = [[(60, 58), (61, 60), (62, 61)], [(60.1, 59), (61, 60), (62, 62)]]


@dataclass(frozen=True)
class Tables:
    """Tables of events, each file as it is given."""

    workspace: Workspace

    def make(
        self,
        name: str,
        files: Files,
        *,
        metadata: bool = True,
    ) -> str:
        event = with_metadata(EVENT) if metadata else EVENT
        schema, properties = to_iceberg(event)
        catalog = open_catalog(self.workspace.catalog("lake"))
        catalog.create_namespace_if_not_exists("events")
        table = catalog.create_table(("events", name), schema, properties=properties)
        for file in files:
            rows = [
                {
                    "At": None if event_min is None else _time(event_min),
                    "__metadata__": {
                        "kafka_ingestion_ts": _time(arrived_min),
                        "topic": "t",
                        "partition": 0,
                        "offset": number,
                        "region": None,
                    },
                }
                for number, (arrived_min, event_min) in enumerate(file)
            ]
            table.append(pa.Table.from_pylist(rows, schema=to_arrow(event)))
        return f"lake.events.{name}"

    def strip(self, table: str) -> None:
        """Take the bounds from a table's files, and from its manifests."""
        held = open_catalog(self.workspace.catalog("lake")).load_table(table.partition(".")[2])
        with held.transaction() as changing:
            changing.set_properties({"write.metadata.metrics.default": "none"})
        paths = [task.file.file_path for task in held.scan().plan_files()]
        rows = [pq.read_table(path.removeprefix("file://")) for path in paths]
        held.delete()
        for one in rows:
            held.append(one)
        for task in held.scan().plan_files():
            path = Path(task.file.file_path.removeprefix("file://"))
            # The times of arrival keep theirs: what is missing is missing for the events alone.
            content = pq.read_table(path)
            leaves = ["__metadata__.kafka_ingestion_ts"]
            pq.write_table(content, path, write_statistics=leaves)

    def plan(
        self,
        table: str,
        ahead: Ahead | None = None,
        *,
        column: str = "at",
        delay_min: float = 0,
        scan: bool = False,
        time_column: str = INGESTION_TS,
        widen_by_us: int | None = None,
    ) -> Plan:
        request = _OneFileAStep(
            (table,),
            parse_period("2026-03-01", "2026-03-02"),
            (),
            "bounded",
            15 * MINUTE_US,
            time_column=time_column,
            scan=scan,
            widen_by_us=widen_by_us,
        )
        mark = Watermark("events", table, column, round(delay_min * MINUTE_US), ahead)
        return plan_of(self.workspace, request, watermarks=[mark])


class _OneFileAStep(ReplayRequest):
    @property
    def limits(self) -> Limits:
        return Limits(1, 1)


def _time(minute: float) -> object:
    return pa.scalar(DAY_US + round(minute * MINUTE_US), pa.timestamp("us", "UTC")).as_py()


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    return Tables(load_workspace(tmp_path))


def widened_min(plan: Plan) -> float | None:
    (one,) = plan.watermarks
    return None if one.widened_by_us is None else round(one.widened_by_us / MINUTE_US, 2)


def test_after_an_outage_it_is_the_outage_and_with_pace_the_width_of_a_file(
    tables: Tables, tmp_path: Path
) -> None:
    plan = tables.plan(tables.make("flushed", FLUSHED))
    # The second file's oldest comes after the first one's newest.
    assert widened_min(plan) == 59
    (one,) = plan.watermarks
    # The column as the table has it, whatever case the application's file uses.
    assert (one.column, one.unknown, one.is_given) == ("At", None, False)
    assert one.cause is not None
    assert (one.cause.step, one.cause.newest_us) == (1, DAY_US + 60 * MINUTE_US)
    text = as_text(PlannedReplay(plan), {})
    assert "wider by 59min 1s than live (0 ms)" in text
    assert "step 1 has records that arrived at 2026-03-01T01:00:06Z" in text
    assert '"widened_by_ms": 3540001.0' in as_json(PlannedReplay(plan), {})
    assert widened_min(tables.plan(tables.make("paced", PACED))) == 2
    # What live would have waited for anyway costs nothing.
    assert widened_min(tables.plan("lake.events.paced", delay_min=10)) == 0
    plan.write(tmp_path / "plan.jsonl")
    assert read_plan(tmp_path / "plan.jsonl") == plan
    assert all(unit.events == () for step in plan.steps for unit in step.units)


def test_times_without_bounds_are_read_or_the_replay_is_refused(tables: Tables) -> None:
    name = tables.make("bare", FLUSHED)
    tables.strip(name)
    plan = tables.plan(name)
    assert widened_min(plan) is None
    with pytest.raises(UsageError, match=r"data file .*parquet has no bounds of At") as raised:
        require_known(plan)
    assert "--scan-without-bounds" in str(raised.value)
    assert "cannot compute" in as_text(PlannedReplay(plan), {})
    assert widened_min(tables.plan(name, scan=True)) == 59
    given = tables.plan(name, widen_by_us=MINUTE_US)
    assert given.watermarks[0].is_given
    require_known(given)
    assert "as you say, wider by 1min" in as_text(PlannedReplay(given), {})


def test_no_such_column_and_no_row_with_a_time(tables: Tables) -> None:
    name = tables.make("timeless", [[(60, None)], [(60, None)]])
    assert widened_min(tables.plan(name)) == 0
    with pytest.raises(UsageError, match="has no column of times nowhere"):
        require_known(tables.plan(name, column="nowhere"))


def test_a_record_from_the_future_is_named_with_its_file_and_bounded_by_max_ahead(
    tables: Tables,
) -> None:
    name = tables.make("future", [[(60, 60), (60.5, LATER), (62, 61)], [(60.1, 60), (62, 62)]])
    plan = tables.plan(name)
    cause = plan.watermarks[0].cause
    assert cause is not None
    with pytest.raises(UsageError, match="ahead of its arrival") as raised:
        require_known(plan)
    assert cause.file in str(raised.value)
    assert "max_ahead" in str(raised.value)
    assert "ahead of its arrival: bound it by watermarks.events.max_ahead" in as_text(
        PlannedReplay(plan), {}
    )
    require_known(tables.plan(name, widen_by_us=0))
    for action in ("drop", "clamp"):
        bounded = tables.plan(name, Ahead("at", 5 * MINUTE_US, action))
        require_known(bounded)
        assert (widened_min(bounded) or 0) <= 62 + 5 - 60


def test_ahead_is_measured_against_the_arrival_by_whatever_column_a_replay_goes(
    tables: Tables,
) -> None:
    name, ahead = tables.make("ahead", FLUSHED), Ahead("At", MINUTE_US, "drop")
    # By the events' own times nothing comes before what is older than the threshold.
    assert (widened_min(tables.plan(name, ahead, time_column="At")) or 0) <= 15
    with pytest.raises(UsageError, match="At is clamped to the time of arrival, but At is not"):
        require_known(tables.plan(name, Ahead("At", MINUTE_US, "clamp"), time_column="At"))
    catalog = open_catalog(tables.workspace.catalog("lake"))
    (batch, *_) = catalog.load_table("events.ahead").scan().to_arrow().to_batches()
    assert hold_back(batch, ahead, arrivals_of(batch, "At")).rows == ()
    far = Ahead("At", -50 * MINUTE_US, "drop")
    assert len(hold_back(batch, far, arrivals_of(batch, "At")).rows) == 2

    bare = tables.make("others", FLUSHED, metadata=False)
    with pytest.raises(UsageError, match=r"but lake.events.others has no __metadata__"):
        tables.plan(bare, ahead, time_column="At")
