"""Points in time between text, numbers and microseconds since 1970, in UTC.

A text as computers write it is read by the standard library, all others by our own rules. Either
takes time: what is known of a second is looked up.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from headrace.records.rows import BadRecord
from headrace.times import DAY_US, EPOCH, EPOCH_ORDINAL, FIRST_US, LAST_US, MICROSECOND, SECOND_US

if TYPE_CHECKING:
    from collections.abc import Mapping

Key = TypeVar("Key")
Known = TypeVar("Known")

# Hours of a stream; what is remembered has the same size for each second.
MOST_REMEMBERED: Final = 20_000

# What `fromisoformat` takes in any version of Python, and means by it what we do.
_PLAIN = re.compile(
    r"\d{4}-\d\d-\d\d[T ](?!24)\d\d:\d\d:\d\d(?:\.\d{1,9}+)?+"
    r"(?:Z|[+-](?:0\d|1[0-7]):[0-5]\d|[+-]18:00)?+",
    re.ASCII,
).fullmatch
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_CLOCK = re.compile(r"[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_ZONE = re.compile(r"(?:Z|UTC|GMT|([+-])(\d{1,2})(?::?(\d{2}))?)?", re.ASCII)
_BLANKS: Final = " \t\n\r\f\v"

# «2026-01-05T03:04:05.123456Z» in three parts: each of the last two has so few forms that all of
# them are known, and to look a part up is cheaper than to read its digits.
_SECOND: Final = slice(19)
_MILLIS: Final = slice(19, 23)
_MICROS: Final = slice(23, None)
_THREE_DIGITS: Final = tuple(f"{number:03d}" for number in range(1_000))
_TEXTS_OF_MILLIS: Final = tuple(f".{digits}" for digits in _THREE_DIGITS)
_TEXTS_OF_MICROS: Final = tuple(f"{digits}Z" for digits in _THREE_DIGITS)
# No part of another length is among them that could have anything behind it.
_KNOWN_MILLIS: Final = {text: number * 1000 for number, text in enumerate(_TEXTS_OF_MILLIS)} | {
    "Z": 0,
    **{f".{digit}Z": digit * 100_000 for digit in range(10)},
}
_KNOWN_MICROS: Final = {text: number for number, text in enumerate(_TEXTS_OF_MICROS)} | {
    "": 0,
    "Z": 0,
    **{f"{digit}Z": digit * 100 for digit in range(10)},
    **{f"{digits:02d}Z": digits * 10 for digits in range(100)},
}

# Records of a stream lie within seconds of each other, so most seconds are known already:
# «2026-01-05T03:04:05» in UTC with its microseconds, and the other way round.
_known_seconds: Final[dict[str, int]] = {}
_known_texts: Final[dict[int, str]] = {}


# For lines that look up what `plain_instant` does.
LOOKED_UP: Final[Mapping[str, object]] = MappingProxyType(
    {
        "SECOND": _SECOND,
        "MILLIS": _MILLIS,
        "MICROS": _MICROS,
        "seconds": _known_seconds,
        "known_millis": _KNOWN_MILLIS,
        "known_micros": _KNOWN_MICROS,
    }
)


def instant_of(text: str) -> int:
    """Return the microseconds of an ISO-8601 text; a text without a zone is in UTC."""
    micros = plain_instant(text)
    if micros is not None:
        return micros
    clock, zone = _read(text)
    return _in_our_years(clock - _offset_us(zone, text), text)


def plain_instant(text: str) -> int | None:
    """Return the microseconds of a text as computers write it; None for all other texts."""
    second_us = _known_seconds.get(text[_SECOND])
    if second_us is not None:
        millis, micros = _KNOWN_MILLIS.get(text[_MILLIS]), _KNOWN_MICROS.get(text[_MICROS])
        if millis is not None and micros is not None:
            return second_us + millis + micros
    return _by_the_library(text)


def wall_clock_of(text: str) -> int:
    """Return the microseconds of a text as it stands on a clock; its zone counts for nothing."""
    moment = _moment(text)
    if moment is not None:
        return (moment.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
    micros, zone = _read(text)
    _offset_us(zone, text)
    return _in_our_years(micros, text)


def instant_text(micros: int) -> str:
    """Return the ISO-8601 text in UTC with microseconds."""
    millis = micros // 1000
    seconds = millis // 1000
    known = _known_texts.get(seconds)
    if known is None:
        known = (EPOCH + timedelta(seconds=seconds)).isoformat()[:19]
        _remember(_known_texts, seconds, known)
    return f"{known}{_TEXTS_OF_MILLIS[millis % 1000]}{_TEXTS_OF_MICROS[micros % 1000]}"


def wall_clock_text(micros: int) -> str:
    """Return the ISO-8601 text with microseconds, without a zone."""
    return instant_text(micros)[:-1]


def date_of(text: str) -> int:
    """Return the days since 1970 of an ISO-8601 date."""
    found = _DATE.fullmatch(text.strip(_BLANKS))
    if found is None:
        raise BadRecord(f"no date: {text[:40]}")
    return _day(found, text)


def date_text(days: int) -> str:
    """Return the ISO-8601 date."""
    return date.fromordinal(days + EPOCH_ORDINAL).isoformat()


def time_of_day_of(text: str) -> int:
    """Return the microseconds since midnight of «hh:mm[:ss[.f]]»."""
    found = _CLOCK.fullmatch(f"T{text}")
    if found is None:
        raise BadRecord(f"no time of day: {text[:40]}")
    return _clock_us(found, text)


def in_our_years(micros: int) -> bool:
    """Whether a point in time lies in the years 0001 to 9999."""
    return FIRST_US <= micros <= LAST_US


def _by_the_library(text: str) -> int | None:
    moment = _moment(text)
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    micros = (moment - EPOCH) // MICROSECOND
    if text[-1] == "Z":
        _remember(_known_seconds, text[_SECOND], micros - moment.microsecond)
    # At the ends of our calendar a zone's offset decides.
    return micros if FIRST_US <= micros <= LAST_US else None


def _moment(text: str) -> datetime | None:
    """Return what the library reads of a plain text; None where our own rules know what is wrong."""
    if _PLAIN(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _read(text: str) -> tuple[int, str]:
    """Return the clock's microseconds, and the zone that stands after them."""
    trimmed = text.strip(_BLANKS)
    day = _DATE.match(trimmed)
    if day is None:
        raise BadRecord(f"no timestamp: {text[:40]}")
    micros = _day(day, text) * DAY_US
    if day.end() == len(trimmed):
        return micros, ""
    clock = _CLOCK.match(trimmed, day.end())
    if clock is None:
        raise BadRecord(f"no timestamp: {text[:40]}")
    return micros + _clock_us(clock, text), trimmed[clock.end() :].lstrip(_BLANKS)


def _day(found: re.Match[str], text: str) -> int:
    try:
        return date(int(found[1]), int(found[2]), int(found[3])).toordinal() - EPOCH_ORDINAL
    except ValueError:
        raise BadRecord(f"no day of the calendar: {text[:40]}") from None


def _clock_us(found: re.Match[str], text: str) -> int:
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise BadRecord(f"no time of day: {text[:40]}")
    # Finer than a microsecond is cut off, as Spark does.
    fraction_us = int((found[4] or "0").ljust(6, "0")[:6])
    return (hour * 3600 + minute * 60 + second) * SECOND_US + fraction_us


def _offset_us(zone: str, text: str) -> int:
    found = _ZONE.fullmatch(zone)
    if found is None:
        raise BadRecord(f"no timestamp, or in a zone that is no offset: {text[:60]}")
    hours, minutes = int(found[2] or 0), int(found[3] or 0)
    if hours * 60 + minutes > 18 * 60 or minutes > 59:
        raise BadRecord(f"no offset of a time zone: {text[:60]}")
    sign = -1 if found[1] == "-" else 1
    return sign * (hours * 60 + minutes) * 60 * SECOND_US


def _in_our_years(micros: int, text: str) -> int:
    if not in_our_years(micros):
        raise BadRecord(f"beyond the years 0001 to 9999: {text[:40]}")
    return micros


def _remember(known: dict[Key, Known], key: Key, value: Known) -> None:
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    known[key] = value
