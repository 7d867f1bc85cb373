from __future__ import annotations

import json

from backfill.results.sweep import Tried, as_json, as_text, cheapest

MINUTE_US = 60_000_000


def tried(minutes: int, took_s: float, *, match: float = 100.0, dropped: int = 0) -> Tried:
    return Tried(minutes * MINUTE_US, took_s, 10, 0, MINUTE_US, dropped, match)


def test_the_cheapest_is_the_fastest_of_those_that_are_safe() -> None:
    slow, fast = tried(1, 50.0), tried(15, 20.0)
    lossy, other = tried(60, 5.0, dropped=1), tried(30, 6.0, match=99.8)
    assert cheapest([slow, lossy, fast, other], 99.9) is fast
    assert cheapest([slow, lossy, fast, other], 99.0) is other
    assert cheapest([lossy], 0) is None
    assert cheapest([tried(5, 20.0), fast], 100) == tried(5, 20.0)


def test_the_table_marks_it_or_says_that_there_is_none() -> None:
    text = as_text([tried(1, 50.0), tried(15, 20.0)], 99.9)
    assert text.splitlines()[2].endswith("← cheapest safe")
    assert as_text([tried(1, 1.0, match=50.0)], 99.9).endswith("99.9 % were asked for")
    said = json.loads(as_json([tried(1, 50.0, match=50.0), tried(15, 20.0)], 99.9))
    assert said["cheapest_safe_us"] == 15 * MINUTE_US
    assert [one["safe"] for one in said["tried"]] == [False, True]
