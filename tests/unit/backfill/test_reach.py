from __future__ import annotations

from datetime import timedelta

import pytest

from backfill.results.reach import Reach, reach_of, too_short

MINUTE_US = 60_000_000
SLIDING = (
    "named_struct(start, knownnullable(precisetimestampconversion(((a - CASE WHEN ((a - 0) %"
    " 300000000) < cast(0 as bigint)) THEN (b + 300000000) ELSE b END) - 0), LongType,"
    " TimestampType)), end, knownnullable(precisetimestampconversion((((a - c) - 0) + 3600000000),"
    " LongType, TimestampType)))"
)


@pytest.mark.parametrize(
    ("plan", "longest_us"),
    [
        (SLIDING, 60 * MINUTE_US),
        ("cast(at#0-T600000ms + cast(30 minutes as interval) as timestamp)", 30 * MINUTE_US),
        ("cast(at#0 + cast(1 hours 30 minutes as interval) as timestamp)", 90 * MINUTE_US),
        ("at#0 <= cast(at#12 + INTERVAL '02' HOUR as timestamp)", 120 * MINUTE_US),
        ("at#0 <= at#12 + INTERVAL '01:30' HOUR TO MINUTE", 90 * MINUTE_US),
        ("at#0 <= at#12 + INTERVAL '1 02:00:00.5' DAY TO SECOND", 26 * 60 * MINUTE_US + 500_000),
        ("at#0 + INTERVAL '90' SECOND, at#1 + INTERVAL '01' MINUTE", 90_000_000),
        ("Project [at#0, kind#1]", 0),
    ],
)
def test_the_longest_time_of_a_plan(plan: str, longest_us: int) -> None:
    assert reach_of(plan) == Reach(longest_us, has_own_state=False)


def test_state_of_its_own_is_seen() -> None:
    assert reach_of("TransformWithStateInPySpark [user#1]").has_own_state


def test_what_is_too_short_is_told_with_what_would_do() -> None:
    reach, delay = Reach(30 * MINUTE_US, has_own_state=False), timedelta(minutes=10)
    none, enough = timedelta(0), timedelta(minutes=40)
    assert too_short(reach, delay, none, none) == [
        ("--warmup", 40 * MINUTE_US),
        ("--cooldown", 40 * MINUTE_US),
    ]
    assert too_short(reach, delay, enough, enough) == []
    assert too_short(Reach(0, has_own_state=False), delay, none, none) == []
