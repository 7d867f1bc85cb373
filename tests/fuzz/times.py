"""Texts of points in time: each is a number in our years, or a bad record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.records.rows import BadRecord
from headrace.records.times import (
    date_of,
    date_text,
    in_our_years,
    instant_of,
    instant_text,
    time_of_day_of,
    wall_clock_of,
    wall_clock_text,
)
from headrace.times import DAY_US, FIRST_DAY, LAST_DAY
from tests.fuzz.target import Target, check_reason

if TYPE_CHECKING:
    from collections.abc import Callable


def _run(value: bytes) -> None:
    text = value.decode(errors="replace")
    at = _read(instant_of, text)
    assert at == _read(instant_of, text)
    if at is not None:
        assert in_our_years(at)
        assert instant_of(instant_text(at)) == at
    clock = _read(wall_clock_of, text)
    if clock is not None:
        assert in_our_years(clock)
        assert wall_clock_of(wall_clock_text(clock)) == clock
    day = _read(date_of, text)
    if day is not None:
        assert FIRST_DAY <= day <= LAST_DAY
        assert date_of(date_text(day)) == day
    of_day = _read(time_of_day_of, text)
    assert of_day is None or 0 <= of_day < DAY_US


def _read(read: Callable[[str], int], text: str) -> int | None:
    try:
        return read(text)
    except BadRecord as problem:
        check_reason(problem.reason)
        return None


TARGETS: Final = (
    Target(
        "times",
        _run,
        (
            b"2026-01-05T03:04:05.123456Z",
            b"2026-01-05 03:04:05.123+02:30",
            b" 2026-1-5 3:04 UTC ",
            b"0001-01-01T00:00:00+01:00",
            b"9999-12-31T23:59:59.999999999-18:00",
            b"23:59:59.5",
            b"2026-02-29",
        ),
    ),
)
