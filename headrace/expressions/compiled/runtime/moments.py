"""Dates and times at run time: Spark's proleptic Gregorian calendar in UTC, in any year."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from headrace.expressions.compiled.runtime.errors import Undefined, overflow
from headrace.expressions.compiled.runtime.numbers import SPACES
from headrace.records.times import in_our_years, instant_text
from headrace.times import DAY_US, EPOCH, EPOCH_ORDINAL, FIRST_DAY, LAST_DAY, MICROSECOND, SECOND_US

_ERA_DAYS: Final = 146_097
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
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ](?!24)[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)?)?"
)


def civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a date."""
    if FIRST_DAY <= days <= LAST_DAY:
        date = dt.date.fromordinal(days + EPOCH_ORDINAL)
        return date.year, date.month, date.day
    # Every 400 years are alike: the day is looked up where Python has a calendar.
    eras, within = divmod(days - FIRST_DAY, _ERA_DAYS)
    date = dt.date.fromordinal(within + 1)
    return date.year + 400 * eras, date.month, date.day


def days_of(year: int, month: int, day: int) -> int:
    """Return the date of year, month and day, for any year."""
    eras, within = divmod(year - 1, 400)
    return dt.date(within + 1, month, day).toordinal() - EPOCH_ORDINAL + eras * _ERA_DAYS


def start_of_day(days: int) -> int:
    """Return the timestamp at which a date begins."""
    return micros_later(0, days * DAY_US)


def micros_of_text(text: str) -> int | None:
    """Return the microseconds of `2024-01-31 23:59:59.999`, in UTC; None for any other text."""
    if _MOMENT.fullmatch(text) is None:
        return None
    try:
        return (dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC) - EPOCH) // MICROSECOND
    except ValueError:
        return None


_ANY_DATE = re.compile(
    r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL
)


def days_of_text(text: str) -> int:
    """Read a date as a cast does: `2024`, `2024-1`, `2024-1-31`, and what follows a T or a space."""
    found = _ANY_DATE.fullmatch(text.strip(SPACES))
    if found is None:
        raise Undefined("the text is no date")
    try:
        return _in_range(days_of(int(found[1]), int(found[2] or 1), int(found[3] or 1)))
    except ValueError:
        raise Undefined("the text is no date") from None


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
    if not in_our_years(micros):
        return timestamp_text_of_any_year(micros)
    text = instant_text(micros)
    digits = text[19:26].rstrip("0") if micros % SECOND_US else ""
    return f"{text[:10]} {text[11:19]}{digits}"


def timestamp_text_of_any_year(micros: int) -> str:
    """Return the same, computed: what is known of a second is looked up above."""
    days, within = divmod(micros, DAY_US)
    seconds, fraction = divmod(within, SECOND_US)
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


def micros_clamped(seconds: int) -> int:
    """Return seconds as a timestamp, as a cast does: the largest one for all that is larger."""
    return max(-(2**63), min(seconds * 1_000_000, 2**63 - 1))


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
    # As Java counts: a last day that is not full does not count, and may be in another month.
    if last > day and rest < within:
        last -= 1
    elif last < day and rest > within:
        last += 1
    one, other = civil(day), civil(last)
    days = ((other[0] - one[0]) * 12 + other[1] - one[1]) * 32 + other[2] - one[2]
    return days // 32 if days >= 0 else -(-days // 32)


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
    thursday = week_start(days) + 3
    return (thursday - days_of(civil(thursday)[0], 1, 1)) // 7 + 1


def day_name(days: int) -> str:
    """Return the short name of the day of the week."""
    return _DAYS[(days + 3) % 7]


def month_name(days: int) -> str:
    """Return the short name of the month."""
    number = civil(days)[1]
    return _MONTHS[3 * number - 3 : 3 * number]
