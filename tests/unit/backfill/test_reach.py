from __future__ import annotations

from datetime import timedelta

from backfill.apps.emission import Reach, too_short

MINUTE_US = 60_000_000


def test_what_is_too_short_is_told_with_what_would_do() -> None:
    reach, delay = Reach(30 * MINUTE_US, has_own_state=False), timedelta(minutes=10)
    none, enough = timedelta(0), timedelta(minutes=40)
    assert too_short(reach, delay, none, none) == [
        ("--warmup", 40 * MINUTE_US),
        ("--cooldown", 40 * MINUTE_US),
    ]
    assert too_short(reach, delay, enough, enough) == []
    assert too_short(Reach(0, has_own_state=False), delay, none, none) == []
