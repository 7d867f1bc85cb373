"""The axis of pictures in which time goes from the left to the right."""

from __future__ import annotations

from typing import Final

from headrace.times import SECOND_US

# Pictures are in units of their own.
LEFT: Final = 210
WIDTH: Final = 790
LONGEST_NAME: Final = 30
MOST_TICKS: Final = 7
# 1 s to a year.
STEPS_US: Final = tuple(
    seconds * SECOND_US
    for seconds in (
        *(1, 5, 15, 60, 300, 600, 900, 1_800, 3_600, 10_800, 21_600, 43_200),
        *(86_400, 2 * 86_400, 604_800, 2 * 604_800, 30 * 86_400, 90 * 86_400, 365 * 86_400),
    )
)


def ticks_between(first_us: int, last_us: int) -> range:
    """Return round times for an axis: a few of them, and none at its ends."""
    span_us = last_us - first_us
    step_us = next((one for one in STEPS_US if span_us // one < MOST_TICKS), span_us // 4)
    return range((first_us // step_us + 1) * step_us, last_us - span_us // 20, step_us)


def short(name: str) -> str:
    """Return a table's name as the picture has room for it: its end tells it from others."""
    return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"
