"""Which source holds the others at which step, and where a query ends and goes on."""

from __future__ import annotations

from backfill.apps.stages import Stage, finished_from, stages_of, widened_at_the_end_us
from backfill.plan.period import Period
from backfill.plan.plan import Plan
from backfill.plan.steps import Limits, bounded
from backfill.plan.units import Unit
from backfill.plan.widening import PlannedWatermark

MINUTE = 60_000_000
ROOMY = Limits(10**9, 10**12)


def a_plan(rows: dict[str, range], threshold_min: int = 1, widened: int = 7) -> Plan:
    """Plan tables that have a file in each of some minutes."""
    units = [
        Unit(table, f"{table}-{at}", at * MINUTE, at * MINUTE, 1, 1)
        for table, minutes in rows.items()
        for at in minutes
    ]
    steps = tuple(bounded(units, threshold_min * MINUTE, ROOMY))
    marks = tuple(PlannedWatermark(table, table, "at", 0, widened) for table in rows)
    period = Period(0, 100 * MINUTE)
    threshold_us = threshold_min * MINUTE
    return Plan(period, (), "bounded", threshold_us, (), steps, watermarks=marks)


def test_a_source_without_rows_holds_nobody_from_the_beginning() -> None:
    plan = a_plan({"a": range(10), "empty": range(0)})
    assert finished_from(plan) == {"empty": 0}
    assert stages_of(plan) == [Stage(0, 5, frozenset({"empty"}))]
    # Nor does it say how wide the watermarks are at the end.
    assert widened_at_the_end_us(plan) == 7


def test_one_whose_rows_end_holds_the_others_no_longer_than_the_threshold() -> None:
    plan = a_plan({"a": range(20), "b": range(5), "c": range(11)})
    # Steps of two minutes; b ends in the third, at minute 4, and minute 6 is beyond the threshold.
    assert finished_from(plan) == {"b": 3, "c": 6}
    ended = plan.ending(closes=True)
    assert stages_of(ended) == [
        Stage(0, 3),
        Stage(3, 6, frozenset("b")),
        Stage(6, 10, frozenset("bc")),
        Stage(10, 11, is_end=True),
    ]


def test_those_that_end_last_are_held_to_their_watermark() -> None:
    assert finished_from(a_plan({"a": range(9), "b": range(10)})) == {}
    assert stages_of(a_plan({"a": range(10)})) == [Stage(0, 5)]
    assert finished_from(a_plan({"a": range(0), "b": range(0)})) == {}
    assert stages_of(a_plan({"a": range(0), "b": range(0)})) == [Stage(0, 0)]
    # A gap is no end.
    assert finished_from(a_plan({"a": range(20), "b": range(0, 20, 19)})) == {}
