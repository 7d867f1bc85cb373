"""How a step is shared out among the tasks of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from backfill.apps.spark_source import ReplayPartition, StepReader
from backfill.plan.period import Period, parse_period
from backfill.plan.plan import Plan
from backfill.plan.steps import Step
from backfill.plan.units import OffsetRange, Unit
from backfill.run import tags
from backfill.run.planning import plan_of, sources_of
from backfill.run.request import ReplayRequest, state_of
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import load_table, open_catalog
from headrace.jvm.sizes import cores
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from pathlib import Path

TABLE, OTHER = "lake.a.b", "lake.a.c"
UNITS = tuple(Unit(TABLE, f"f{n}", n, n, 10, 100 + n) for n in range(12))
LANES = tuple(OffsetRange(TABLE, "t", n, 0, 10 + n) for n in range(5))


def shares(tmp_path: Path, step: Step, **more: str) -> list[ReplayPartition]:
    plan = Plan(Period(0, 100), (), "bounded", 5, (), (step,))
    plan.write(tmp_path / "plan.jsonl")
    reader = StepReader({"plan": str(tmp_path / "plan.jsonl"), "table": TABLE, **more})
    found = reader.partitions({"step": 0}, {"step": 1})
    return [share for share in found if isinstance(share, ReplayPartition)]


@pytest.mark.parametrize("readers", [1, 3, 7, 40])
def test_a_step_is_shared_among_so_many_readers(readers: int, tmp_path: Path) -> None:
    step = Step(0, 0, (*UNITS, Unit(OTHER, "x", 0, 0, 1, 1)))
    found = shares(tmp_path, step, readers=str(readers))
    assert len(found) == min(readers, len(UNITS))
    assert sorted(unit.path for share in found for unit in share.units) == sorted(
        unit.path for unit in UNITS
    )
    weights = [sum(unit.size_bytes for unit in share.units) for share in found]
    assert max(weights) - min(weights) <= max(unit.size_bytes for unit in UNITS)


@pytest.mark.parametrize("readers", [1, 3, 40])
def test_a_kafka_partition_is_given_to_one_reader_whole(readers: int, tmp_path: Path) -> None:
    found = shares(tmp_path, Step(0, 0, UNITS, LANES), readers=str(readers))
    assert len(found) == min(readers, len(LANES))
    assert sorted(one.partition for share in found for one in share.ranges) == [0, 1, 2, 3, 4]


def test_unless_told_there_is_one_reader_for_each_core_here(tmp_path: Path) -> None:
    assert len(shares(tmp_path, Step(0, 0, UNITS))) == min(cores(), len(UNITS))


@pytest.mark.parametrize("lets_go", [True, False])
def test_the_snapshot_is_let_go_when_the_last_step_is_behind(
    tmp_path: Path,
    lets_go: bool,
) -> None:
    (tmp_path / "headrace.yaml").write_text(
        'clusters: {c: {bootstrap_servers: "127.0.0.1:1"}}\n'
        'catalogs: {lake: {type: sql, uri: "sqlite:///catalog.db", warehouse: warehouse}}\n'
    )
    workspace = load_workspace(tmp_path)
    catalog = open_catalog(workspace.catalog("lake"))
    table = make_table(catalog, "held", [[Stored(0, n, n * 60.0)] for n in range(3)])
    tables, day = (table,), parse_period("2026-03-01", "2026-03-02")
    plan = plan_of(workspace, ReplayRequest(tables, day, (), "bounded", 1_000_000))
    path = state_of(workspace, "run").store_plan(plan)
    for source in sources_of(workspace, plan).values():
        tags.hold(source, "run")
    options = {"workspace": str(tmp_path), "plan": str(path), "table": table, "readers": "1"}
    reader = StepReader({**options, "lets_go": "true"} if lets_go else options)
    at = reader.initialOffset()
    for _ in plan.steps:
        # As Spark asks: where it goes to, then what lies before that, then where it goes from there.
        end = reader.latestOffset()
        reader.partitions(at, end)
        at = end
        assert "headrace-replay-run" in load_table(workspace, table).metadata.refs
    assert reader.latestOffset() == at == {"step": 3}
    assert ("headrace-replay-run" in load_table(workspace, table).metadata.refs) is not lets_go
