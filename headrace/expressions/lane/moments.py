"""Functions of dates and timestamps; the session's time zone is UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.expressions.lane import run_moments
from headrace.expressions.lane.casts import cast
from headrace.expressions.lane.coerce import DATE, INT, LOCAL, LONG, TIMESTAMP, WHOLE
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.run_moments import DAY_US
from headrace.expressions.lane.value import Value, lift, need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.expressions.lane.value import Scope

_HOUR_US: Final = 3_600_000_000
_PARTS: Final[Mapping[str, Callable[[int], int]]] = {
    "year": run_moments.year,
    "quarter": run_moments.quarter,
    "month": run_moments.month,
    "day": run_moments.day,
    "dayofmonth": run_moments.day,
    "dayofyear": run_moments.day_of_year,
}
_CLOCK: Final = {
    "hour": (_HOUR_US, 24),
    "minute": (60_000_000, 60),
    "second": (1_000_000, 60),
}
_STEPS: Final = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": _HOUR_US,
    "day": DAY_US,
    "dd": DAY_US,
}
_STARTS: Final[Mapping[str, Callable[[int], int]]] = {
    **dict.fromkeys(("year", "yyyy", "yy"), run_moments.year_start),
    **dict.fromkeys(("month", "mm", "mon"), run_moments.month_start),
    "quarter": run_moments.quarter_start,
}
_UNIX: Final = {"unix_seconds": 1_000_000, "unix_millis": 1000, "unix_micros": 1}
_FROM_UNIX: Final = {"timestamp_seconds": 1_000_000, "timestamp_millis": 1000}


def _date(scope: Scope, name: str, value: Value) -> Value:
    need(value, [DATE, TIMESTAMP, LOCAL], f"{name}()")
    return cast(scope, value, DATE)


def part_of_date(scope: Scope, name: str, value: Value) -> Value:
    """Compile `year`, `month` and the like."""
    function = scope.helper(_PARTS[name])
    return lift(scope, [_date(scope, name, value)], INT, lambda x: f"{function}({x})")


def day_of_week(scope: Scope, name: str, value: Value) -> Value:
    """Compile `dayofweek`, from 1 for Sunday, and `weekday`, from 0 for Monday."""
    source = "({} + 4) % 7 + 1" if name == "dayofweek" else "({} + 3) % 7"
    return lift(scope, [_date(scope, name, value)], INT, source.format)


def part_of_day(scope: Scope, name: str, value: Value) -> Value:
    """Compile `hour`, `minute` and `second`."""
    need(value, [TIMESTAMP, LOCAL], f"{name}()")
    unit_us, many = _CLOCK[name]
    return lift(scope, [value], INT, lambda x: f"{x} // {unit_us} % {many}")


def truncated(scope: Scope, unit: Value, value: Value) -> Value:
    """Compile `date_trunc` of a timestamp, to a unit that is known."""
    need(value, [TIMESTAMP, LOCAL], "date_trunc()")
    if not isinstance(unit.literal, str):
        raise Refused("date_trunc() to a unit that is no text in quotes")
    name = unit.literal.lower()
    if name in _STEPS:
        step = _STEPS[name]
        return lift(scope, [value], TIMESTAMP, lambda x: f"{x} // {step} * {step}", declared=True)
    if name == "week":
        # 1970-01-05 was a Monday.
        source = f"({{}} // {DAY_US} + 3) // 7 * {7 * DAY_US} - {3 * DAY_US}"
        return lift(scope, [value], TIMESTAMP, source.format, declared=True)
    if name not in _STARTS:
        raise Refused(f"date_trunc() to '{name}'")
    start = scope.helper(_STARTS[name])
    source = f"{start}({{}} // {DAY_US}) * {DAY_US}"
    return lift(scope, [value], TIMESTAMP, source.format, declared=True)


def since_1970(scope: Scope, name: str, value: Value) -> Value:
    """Compile `unix_seconds`, `unix_millis` and `unix_micros`."""
    need(value, [TIMESTAMP], f"{name}()")
    unit_us = _UNIX[name]
    return lift(scope, [value], LONG, lambda x: f"{x} // {unit_us}" if unit_us > 1 else x)


def from_1970(scope: Scope, name: str, value: Value) -> Value:
    """Compile `timestamp_seconds`, `timestamp_millis` and `timestamp_micros` of whole numbers."""
    need(value, WHOLE, f"{name}()")
    if name == "timestamp_micros":
        return lift(scope, [value], TIMESTAMP, lambda x: x)
    exactly = scope.helper(run_moments.micros_exactly)
    unit_us = _FROM_UNIX[name]
    return lift(scope, [value], TIMESTAMP, lambda x: f"{exactly}({x}, {unit_us})", fails=True)


def days_since_1970(scope: Scope, value: Value) -> Value:
    """Compile `unix_date`."""
    return lift(scope, [need(value, [DATE], "unix_date()")], INT, lambda x: x)


def date_since_1970(scope: Scope, value: Value) -> Value:
    """Compile `date_from_unix_date`."""
    return lift(scope, [need(value, [INT], "date_from_unix_date()")], DATE, lambda x: x)


def days_later(scope: Scope, sign: str, start: Value, days: Value) -> Value:
    """Compile `date_add` and `date_sub`."""
    values = [_date(scope, "date_add", start), need(days, [INT], "date_add()")]
    later = scope.helper(run_moments.days_later)
    return lift(scope, values, DATE, lambda a, b: f"{later}({a}, {sign}{b})")


def days_between(scope: Scope, end: Value, start: Value) -> Value:
    """Compile `datediff`."""
    values = [_date(scope, "datediff", end), _date(scope, "datediff", start)]
    return lift(scope, values, INT, lambda a, b: f"{a} - {b}")
