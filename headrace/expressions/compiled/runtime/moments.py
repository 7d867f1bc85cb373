"""Dates and times at run time: Spark's proleptic Gregorian calendar in UTC, in any year."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from headrace.expressions.lane.run_numbers import SPACES
from headrace.expressions.lane.undefined import Undefined, overflow

DAY_US: Final = 86_400_000_000
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_FIRST: Final = 1 - _EPOCH
_LAST: Final = dt.date.max.toordinal() - _EPOCH
_ERA_DAYS: Final = 146_097
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?(?:Z|\+00:00)?)?"
)


def civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a date."""
    if _FIRST <= days <= _LAST:
        date = dt.date.fromordinal(days + _EPOCH)
        return date.year, date.month, date.day
    # Every 400 years are alike: the day is looked up where Python has a calendar.
    eras, within = divmod(days - _FIRST, _ERA_DAYS)
    date = dt.date.fromordinal(within + 1)
    return date.year + 400 * eras, date.month, date.day


def days_of(year: int, month: int, day: int) -> int:
    """Return the date of year, month and day, for any year."""
    eras, within = divmod(year - 1, 400)
    return dt.date(within + 1, month, day).toordinal() - _EPOCH + eras * _ERA_DAYS


def start_of_day(days: int) -> int:
    """Return the timestamp at which a date begins."""
    micros = days * DAY_US
    if not -(2**63) <= micros < 2**63:
        overflow("timestamp")
    return micros


def date_of_text(text: str) -> int | None:
    """Return the days of `2024-01-31`, None for any other text."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    try:
        return days_of(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


def micros_of_text(text: str) -> int | None:
    """Return the microseconds of `2024-01-31 23:59:59.999`, in UTC; None for any other text."""
    found = _MOMENT.fullmatch(text)
    days = None if found is None else date_of_text(found[1])
    if found is None or days is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.group(2, 3, 4))
    if hour > 23 or minute > 59 or second > 59:
        return None
    micros = int((found[5] or "0").ljust(6, "0"))
    return days * DAY_US + ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros


_ANY_DATE = re.compile(
    r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL
)


def days_of_text(text: str) -> int:
    """Read a date as a cast does: `2024`, `2024-1`, `2024-1-31`, and what follows a T or a space."""
    found = _ANY_DATE.fullmatch(text.strip(SPACES))
    if found is None:
        raise Undefined("the text is no date")
    try:
        days = days_of(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        raise Undefined("the text is no date") from None
    if not -(2**31) <= days < 2**31:
        overflow("date")
    return days


def year(days: int) -> int:
    """Return the year of a date."""
    return civil(days)[0]


def month(days: int) -> int:
    """Return the month of a date, 1 to 12."""
    return civil(days)[1]


def day(days: int) -> int:
    """Return the day of the month."""
    return civil(days)[2]


def quarter(days: int) -> int:
    """Return the quarter of the year, 1 to 4."""
    return (civil(days)[1] + 2) // 3


def day_of_year(days: int) -> int:
    """Return the day of the year, from 1."""
    return days - days_of(civil(days)[0], 1, 1) + 1


def month_start(days: int) -> int:
    """Return the first day of a date's month."""
    at = civil(days)
    return days_of(at[0], at[1], 1)


def quarter_start(days: int) -> int:
    """Return the first day of a date's quarter."""
    at = civil(days)
    return days_of(at[0], (at[1] - 1) // 3 * 3 + 1, 1)


def year_start(days: int) -> int:
    """Return the first day of a date's year."""
    return days_of(civil(days)[0], 1, 1)


def date_text(days: int) -> str:
    """Return a date as Spark writes it."""
    at = civil(days)
    return f"{year_text(at[0])}-{at[1]:02}-{at[2]:02}"


def timestamp_text(micros: int) -> str:
    """Return a timestamp in UTC as Spark writes it: no fraction, or one without zeros at its end."""
    days, within = divmod(micros, DAY_US)
    seconds, fraction = divmod(within, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    digits = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{date_text(days)} {hour:02}:{minute:02}:{second:02}{digits}"


def year_text(year: int) -> str:
    """Return a year as Spark writes it: of four digits, or of more with a sign."""
    if year > 9999:
        return f"+{year}"
    return f"{year:04}" if year >= 0 else f"-{-year:04}"


def days_later(days: int, more: int) -> int:
    """Return another date, as Java adds ints: beyond the largest one follows the least."""
    return (days + more + 2**31) % 2**32 - 2**31


def days_between(end: int, start: int) -> int:
    """Return how many days lie between two dates, as Java subtracts ints."""
    return days_later(end, -start)


def micros_exactly(number: int, unit_us: int) -> int:
    """Return a number of units as a timestamp."""
    micros = number * unit_us
    if not -(2**63) <= micros < 2**63:
        overflow("timestamp")
    return micros


def micros_clamped(seconds: int) -> int:
    """Return seconds as a timestamp, as a cast does: the largest one for all that is larger."""
    return max(-(2**63), min(seconds * 1_000_000, 2**63 - 1))


def timestamp_of_millis(millis: int) -> int:
    """Return milliseconds as a timestamp."""
    return micros_exactly(millis, 1000)


def week_start(days: int) -> int:
    """Return the Monday of a date's week."""
    return days - (days + 3) % 7


def micros_later(micros: int, more: int) -> int:
    """Return another timestamp."""
    later = micros + more
    if not -(2**63) <= later < 2**63:
        overflow("timestamp")
    return later


def whole_units(micros: int, unit_us: int) -> int:
    """Return how many whole units there are, towards zero."""
    if not -(2**63) <= micros < 2**63:
        overflow("bigint")
    whole = abs(micros) // unit_us
    return whole if micros >= 0 else -whole
