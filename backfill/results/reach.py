"""How far back an application looks: its windows, its sessions, the intervals of its joins.

Read off the words of Spark's plan, which is the same for SQL and for Python. What a function of
the author's own keeps in mind (transformWithState) it does not tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_UNITS: Final = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
# A window's end: its start and so many microseconds.
_WINDOW: Final = re.compile(r"\+ (\d+)\), LongType, TimestampType")
_SESSION: Final = re.compile(r"cast\(((?:\d+ [a-z]+ ?)+) as interval\)")
_INTERVAL: Final = re.compile(r"INTERVAL '([0-9:. ]+)' ([A-Z]+)(?: TO ([A-Z]+))?")
_OWN_STATE: Final = re.compile(r"TransformWithState|FlatMapGroupsWithState", re.IGNORECASE)
_FIELDS: Final = ("day", "hour", "minute", "second")
MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Reach:
    """The longest time that a query's plan names, and whether it keeps state of its own."""

    longest_us: int
    has_own_state: bool


def reach_of(plan: str) -> Reach:
    """Return how far a query looks, by the words of its analysed plan."""
    found = [int(one) for one in _WINDOW.findall(plan)]
    found += [_session_us(one) for one in _SESSION.findall(plan)]
    found += [_interval_us(*one) for one in _INTERVAL.findall(plan)]
    return Reach(max(found, default=0), _OWN_STATE.search(plan) is not None)


def too_short(
    reach: Reach, delay: timedelta, warmup: timedelta, cooldown: timedelta
) -> list[tuple[str, int]]:
    """Return which of warm-up and cool-down are too short, each with what would do."""
    if reach.longest_us == 0:
        return []
    needed_us = reach.longest_us + delay // MICROSECOND
    wanted = (("--warmup", warmup), ("--cooldown", cooldown))
    return [(name, needed_us) for name, given in wanted if given // MICROSECOND < needed_us]


def _session_us(text: str) -> int:
    words = text.split()
    pairs = zip(words[::2], words[1::2], strict=False)
    return sum(int(count) * _UNITS.get(unit.rstrip("s"), 0) for count, unit in pairs)


def _interval_us(text: str, unit: str, to: str) -> int:
    first = unit.lower()
    if not to:
        return round(float(text) * _UNITS.get(first, 0))
    units = _FIELDS[_FIELDS.index(first) :] if first in _FIELDS else ()
    return round(
        sum(
            float(part) * _UNITS[one]
            for part, one in zip(re.split(r"[ :]", text), units, strict=False)
        )
    )
