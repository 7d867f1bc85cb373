"""What an application's replay says of itself with each batch."""

from __future__ import annotations

from pyspark.sql.streaming.listener import StreamingQueryProgress

from backfill.apps.streams import ReplayWatch
from backfill.plan.period import Period
from backfill.plan.plan import Plan
from backfill.plan.steps import Step
from backfill.plan.units import Unit

SECOND = 1_000_000
STEPS = tuple(
    Step(
        number,
        number * 60 * SECOND,
        (
            Unit("lake.a.b", "f", number * 60 * SECOND, (number * 60 + 50) * SECOND, 100, 1),
            Unit("lake.a.c", "g", number * 60 * SECOND, (number * 60 + 30) * SECOND, 100, 1),
        ),
    )
    for number in range(4)
)
PLAN = Plan(Period(0, 240 * SECOND), (), "bounded", 60 * SECOND, (), STEPS)


def batch(start: int | None, end: int) -> StreamingQueryProgress:
    """A batch's progress, as Spark writes it."""
    source = {
        "description": "headrace",
        "startOffset": None if start is None else {"step": start},
        "endOffset": {"step": end},
        "latestOffset": None,
        "numInputRows": 200,
        "inputRowsPerSecond": 0.0,
        "processedRowsPerSecond": 0.0,
    }
    whole = {
        "id": "8c57b1ec-94b5-4c99-b100-f694162df0b9",
        "runId": "ae505c5a-a64e-4896-8c28-c7cbaf926f16",
        "name": None,
        "timestamp": "2026-03-01T00:00:00.000Z",
        "batchId": end,
        "batchDuration": 1,
        "durationMs": {},
        "eventTime": {},
        "stateOperators": [],
        "sources": [source, source],
        "sink": {"description": "none", "numOutputRows": 0},
        "numInputRows": 400,
        "inputRowsPerSecond": 0.0,
        "processedRowsPerSecond": 0.0,
        "observedMetrics": {},
    }
    return StreamingQueryProgress.fromJson(whole)


def test_a_batch_is_told_by_its_step_with_the_time_that_is_left() -> None:
    times = iter([0.0, 2.0, 8.0])
    watch = ReplayWatch(PLAN, lambda: next(times))
    assert watch.facts(batch(None, 1)) == {
        "step": "1 of 4",
        "rows_per_s": 100,
        "eta_s": 6,
        "frontier": "1970-01-01T00:01:00.000000Z",
        "newest": {
            "lake.a.b": "1970-01-01T00:00:50.000000Z",
            "lake.a.c": "1970-01-01T00:00:30.000000Z",
        },
    }
    last = watch.facts(batch(3, 4))
    assert (last["step"], last["eta_s"], "frontier" in last) == ("4 of 4", 0, False)


def test_what_was_done_before_a_resume_makes_no_speed() -> None:
    times = iter([0.0, 2.0])
    watch = ReplayWatch(PLAN, lambda: next(times))
    facts = watch.facts(batch(2, 3))
    assert (facts["step"], facts["rows_per_s"], facts["eta_s"]) == ("3 of 4", 100, 2)
