"""How a step is shared out among the tasks of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from backfill.period import Period
from backfill.plan import Plan
from backfill.planner import Step
from backfill.spark_source import Share, StepReader
from backfill.units import OffsetRange, Unit
from headrace.spark import cores

if TYPE_CHECKING:
    from pathlib import Path

TABLE, OTHER = "lake.a.b", "lake.a.c"
UNITS = tuple(Unit(TABLE, f"f{n}", n, n, 10, 100 + n) for n in range(12))
LANES = tuple(OffsetRange(TABLE, "t", n, 0, 10 + n) for n in range(5))


def shares(tmp_path: Path, step: Step, **more: str) -> list[Share]:
    plan = Plan(Period(0, 100), (), "bounded", 5, (), (step,))
    plan.write(tmp_path / "plan.jsonl")
    reader = StepReader({"plan": str(tmp_path / "plan.jsonl"), "table": TABLE, **more})
    found = reader.partitions({"step": 0}, {"step": 1})
    return [share for share in found if isinstance(share, Share)]


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
