"""How large a batch is: it follows what was done in time, and never stands still."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from headrace.line.pace import FEWEST, FIRST, LONGEST_S, MOST_BYTES, MOST_CHANGE, ONCE_S, Pace


def test_a_batch_is_as_long_as_the_trigger_within_bounds() -> None:
    assert Pace.of(timedelta(seconds=4), once=False).aim_s == 4
    assert Pace.of(None, once=False).aim_s == 1
    assert Pace.of(timedelta(hours=1), once=False).aim_s == LONGEST_S
    assert Pace.of(timedelta(hours=1), once=True).aim_s == ONCE_S


@given(st.floats(1, 10), st.integers(50_000, 1_000_000))
def test_a_steady_job_comes_to_batches_of_the_time_that_was_asked_for(
    aim_s: float, a_second: int
) -> None:
    pace = Pace(aim_s)
    for _ in range(8):
        pace.begin(pace.records, is_full=True)
        pace.learn(pace.records / a_second, pace.records)
    assert abs(pace.records / a_second - aim_s) < 0.1


def test_one_batch_changes_it_by_a_bounded_share() -> None:
    pace = Pace(1)
    pace.begin(FIRST, is_full=True)
    pace.learn(0.000001, 0)
    assert pace.records == FIRST * MOST_CHANGE
    pace.begin(pace.records, is_full=True)
    pace.learn(1_000, 0)
    assert pace.records == FIRST


def test_what_took_all_there_was_says_nothing_of_time() -> None:
    pace = Pace(1)
    pace.begin(3, is_full=False)
    pace.learn(5, 600)
    assert pace.records == FIRST


def test_large_records_make_small_batches() -> None:
    pace = Pace(10)
    pace.begin(2_000, is_full=True)
    pace.learn(2, 2_000 * 2**20)
    assert pace.records == MOST_BYTES // 2**20


def test_after_failures_it_is_slower_and_still_gets_on() -> None:
    pace = Pace(1)
    for _ in range(20):
        pace.slower()
    assert pace.records == FEWEST
