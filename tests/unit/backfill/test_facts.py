"""What is told of a replay by its plan, at each step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from backfill.plan.period import Period
from backfill.plan.plan import Plan, PlannedSource
from backfill.plan.steps import Step
from backfill.plan.units import Unit
from backfill.run.facts import Reach, ReplayFacts, reach_by_bounds

if TYPE_CHECKING:
    import pytest

S = 1_000_000


def unit(source: str, path: str, low_s: int, high_s: int, rows: int = 10) -> Unit:
    return Unit(source, path, low_s * S, high_s * S, rows, 100)


def source(name: str) -> PlannedSource:
    return PlannedSource(name, 1, 1, 0, 1, 10, 0, 100, 0, 0)


def a_replay(begun: Reach) -> ReplayFacts:
    # File a2 is cut, and ends in the third step.
    steps = (
        Step(0, 0, (unit("a", "a1", 0, 5), unit("a", "a2", 1, 6))),
        Step(1, 20 * S, (unit("b", "b1", 22, 30),)),
        Step(2, 40 * S, (unit("a", "a2", 41, 50),)),
    )
    plan = Plan(Period(0, 60 * S), (), "bounded", 60 * S, (source("a"), source("b")), steps)
    return ReplayFacts("run", plan, begun)


def values(facts: ReplayFacts) -> dict[str, float]:
    return {
        " ".join(
            (one.metric.name.removeprefix("headrace_"), one.labels.get("source", ""))
        ).strip(): (one.value)
        for one in facts.samples()
        if isinstance(one.value, int | float)
    }


def test_each_step_moves_frontier_files_and_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    begun_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: begun_s)
    facts = a_replay(Reach())
    (row,) = facts.replays()
    assert (row.steps_done, row.steps, row.rows, row.rows_planned) == (0, 3, 0, 40)
    assert (row.eta_s, row.frontier, row.threshold_ms) == (
        None,
        "1970-01-01T00:00:00.000000Z",
        60_000,
    )
    assert [one.next for one in row.sources] == [
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:22.000000Z",
    ]

    monkeypatch.setattr(time, "monotonic", lambda: begun_s + 6)
    facts.reached(Reach(1, 20, {"a": 6 * S}))
    facts.reached(Reach(2, 30, {"b": 30 * S}))
    (row,) = facts.replays()
    assert (row.eta_s, row.frontier) == (2.0, "1970-01-01T00:00:40.000000Z")
    assert [(one.watermark, one.next) for one in row.sources] == [
        ("1970-01-01T00:00:06.000000Z", "1970-01-01T00:00:41.000000Z"),
        ("1970-01-01T00:00:30.000000Z", None),
    ]
    assert values(facts) == {
        "records_in_total": 30,
        "backfill_files_total": 3,
        "backfill_files_done": 2,
        "backfill_progress_ratio": 2 / 3,
        "backfill_eta_seconds": 2.0,
        "backfill_frontier_timestamp_seconds": 40.0,
        "watermark_timestamp_seconds a": 6.0,
        "watermark_timestamp_seconds b": 30.0,
        "watermark_drift_seconds": 24.0,
    }

    facts.reached(Reach(3, 40, {"a": 50 * S}))
    (row,) = facts.replays()
    assert (row.eta_s, row.frontier) == (0.0, "1970-01-01T00:01:00.000000Z")
    assert values(facts)["backfill_files_done"] == 3


def test_what_was_done_before_counts_for_the_progress_and_not_for_the_speed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: begun_s)
    facts = a_replay(Reach(1, 20))
    assert values(facts)["backfill_progress_ratio"] == 1 / 3
    assert values(facts)["records_in_total"] == 0
    monkeypatch.setattr(time, "monotonic", lambda: begun_s + 5)
    facts.reached(Reach(2, 30, {"b": 30 * S}))
    assert facts.replays()[0].eta_s == 5.0


def test_an_empty_plan_is_done() -> None:
    plan = Plan(Period(0, S), (), "bounded", 1, (), ())
    facts = ReplayFacts("run", plan, Reach())
    assert values(facts)["backfill_progress_ratio"] == 1.0
    assert facts.replays()[0].frontier is None


def test_a_table_that_is_ahead_says_whose_file_it_waits_for() -> None:
    steps = (
        Step(0, 0, (unit("a", "s3://bucket/data/a1.parquet", 0, 5), unit("a", "a2", 2, 6))),
        Step(1, 70 * S, (unit("b", "b1", 70, 80),)),
    )
    plan = Plan(Period(0, 90 * S), (), "bounded", 60 * S, (source("a"), source("b")), steps)
    (row,) = ReplayFacts("run", plan, Reach()).replays()
    assert [one.held_back_by for one in row.sources] == [None, "a: a1.parquet"]
    (row,) = ReplayFacts("run", plan, Reach(1)).replays()
    assert [one.held_back_by for one in row.sources] == [None, None]


def test_how_far_another_process_is_is_known_by_its_plan() -> None:
    cut = Unit("b", "b1", 0, 99 * S, 10, 100, window_us=(0, 30 * S))
    steps = (
        Step(0, 0, (unit("a", "a1", 0, 5), unit("a", "a2", 1, 6))),
        Step(1, 20 * S, (cut,)),
        Step(2, 40 * S, (unit("a", "a3", 41, 70),)),
    )
    plan = Plan(Period(0, 60 * S), (), "bounded", 60 * S, (source("a"), source("b")), steps)
    assert reach_by_bounds(plan, 1, 20) == Reach(1, 20, {"a": 6 * S})
    assert reach_by_bounds(plan, 2, 30) == Reach(2, 30, {"a": 6 * S, "b": 30 * S - 1})
    # What is delivered is of the period.
    assert reach_by_bounds(plan, 3, 40).newest_us["a"] == 60 * S - 1
