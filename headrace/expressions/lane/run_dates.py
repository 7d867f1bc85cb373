"""The calendar at run time: months, weeks, and dates made of their parts."""

from __future__ import annotations

from typing import Final

from headrace.expressions.lane.run_moments import DAY_US, civil, days_of, month_start, start_of_day
from headrace.expressions.lane.undefined import Undefined, overflow

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_LONG_DAYS: Final = ("DAY", "SDAY", "NESDAY", "RSDAY", "DAY", "URDAY", "DAY")
# SU, SUN, SUNDAY and the like.
_NUMBERS: Final = {
    name: number
    for number, (day, rest) in enumerate(zip(_DAYS, _LONG_DAYS, strict=True))
    for name in (day.upper()[:2], day.upper(), day.upper() + rest)
}
# The years that Java knows.
_LARGEST_YEAR: Final = 999_999_999


def _in_range(days: int) -> int:
    if not -(2**31) <= days < 2**31:
        overflow("date")
    return days


def date_of(year: int, month: int, day: int) -> int:
    """Return the date of year, month and day."""
    if abs(year) > _LARGEST_YEAR or not (1 <= month <= 12 and 1 <= day <= 31):
        raise Undefined("there is no such date")
    try:
        return _in_range(days_of(year, month, day))
    except ValueError:
        raise Undefined("there is no such date") from None


def months_later(days: int, months: int) -> int:
    """Return the same day of another month, its last one where it is shorter."""
    year, month, day = civil(days)
    years, number = divmod(year * 12 + month - 1 + months, 12)
    first = days_of(years, number + 1, 1)
    return _in_range(min(first + day - 1, month_end(first)))


def moment_months_later(micros: int, months: int) -> int:
    """Return the same time of day in another month."""
    days, within = divmod(micros, DAY_US)
    return start_of_day(months_later(days, months)) + within


def months_from(start: int, end: int) -> int:
    """Return how many whole months lie between two timestamps, below 0 where they go back."""
    (day, within), (last, rest) = divmod(start, DAY_US), divmod(end, DAY_US)
    one, other = civil(day), civil(last)
    months = (other[0] - one[0]) * 12 + other[1] - one[1]
    place, then = (one[2], within), (other[2], rest)
    if months > 0 and then < place:
        return months - 1
    return months + 1 if months < 0 and then > place else months


def month_end(days: int) -> int:
    """Return the last day of a date's month."""
    return month_start(month_start(days) + 31) - 1


def next_day(days: int, name: str) -> int:
    """Return the first day of that name behind a date."""
    number = _NUMBERS.get(name.upper())
    if number is None:
        raise Undefined("there is no such day of the week")
    return _in_range(days + 1 + (number - 4 - days) % 7)


def week(days: int) -> int:
    """Return the number of the week: the first one of a year has its first Thursday."""
    thursday = days - (days + 3) % 7 + 3
    return (thursday - days_of(civil(thursday)[0], 1, 1)) // 7 + 1


def day_name(days: int) -> str:
    """Return the short name of the day of the week."""
    return _DAYS[(days + 3) % 7]


def month_name(days: int) -> str:
    """Return the short name of the month."""
    number = civil(days)[1]
    return _MONTHS[3 * number - 3 : 3 * number]
