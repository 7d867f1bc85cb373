"""Points in time between text, numbers and microseconds since 1970, in UTC.

Records of a stream lie within seconds of each other, so the text of a second is looked up, and
read only where it is new: reading each anew would be a fifth of a router's work.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from headrace.records.rows import BadRecord

SECOND_US: Final = 1_000_000
DAY_S: Final = 86_400
EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
# The years that every reader knows, Python and SQL among them: 0001 to 9999.
FIRST_DAY: Final = 1 - EPOCH_ORDINAL
LAST_DAY: Final = date.max.toordinal() - EPOCH_ORDINAL
FIRST_US: Final = FIRST_DAY * DAY_S * SECOND_US
LAST_US: Final = (LAST_DAY + 1) * DAY_S * SECOND_US - 1
MOST_REMEMBERED: Final = 200_000

_DATE = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*", re.ASCII)
_HEAD = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_CLOCK = re.compile(r"[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_TAIL = re.compile(r"(?:\.(\d{1,9}))?(.*)", re.ASCII | re.DOTALL)
_ZONE = re.compile(r"\s*(?:Z|UTC|GMT|([+-])(\d{1,2})(?::?(\d{2}))?)?\s*", re.ASCII)
_PLAIN_HEAD = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", re.ASCII)

# «2026-01-05T03:04:05» to its microseconds, and «.123Z» to what it adds.
heads: Final[dict[str, int]] = {}
tails: Final[dict[str, int]] = {}
_seconds_text: Final[dict[int, str]] = {}
_fraction_text: Final[dict[int, str]] = {}


def instant_of(text: str) -> int:
    """Return the microseconds of an ISO-8601 text; a text without a zone is in UTC."""
    head, tail = text[:19], text[19:]
    if head in heads and tail in tails:
        return heads[head] + tails[tail]
    micros = _parsed(text)
    _remember(head, tail)
    return micros


def wall_clock_of(text: str) -> int:
    """Return the microseconds of a text as it stands on a clock; its zone counts for nothing."""
    micros, zone = _read(text)
    _offset_us(zone, text)
    return _in_our_years(micros, text)


def instant_text(micros: int) -> str:
    """Return the ISO-8601 text in UTC with microseconds."""
    seconds, fraction = divmod(micros, SECOND_US)
    try:
        return _seconds_text[seconds] + _fraction_text[fraction]
    except KeyError:
        return _text_of_seconds(seconds) + _text_of_fraction(fraction)


def wall_clock_text(micros: int) -> str:
    """Return the ISO-8601 text with microseconds, without a zone."""
    return instant_text(micros)[:-1]


def date_of(text: str) -> int:
    """Return the days since 1970 of an ISO-8601 date."""
    found = _DATE.fullmatch(text)
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


def _parsed(text: str) -> int:
    micros, zone = _read(text)
    return _in_our_years(micros - _offset_us(zone, text), text)


def _read(text: str) -> tuple[int, str]:
    """Return the clock's microseconds, and what stands after them."""
    head = _HEAD.match(text)
    if head is None:
        raise BadRecord(f"no timestamp: {text[:40]}")
    micros = _day(head, text) * DAY_S * SECOND_US
    rest = text[head.end() :]
    if not rest.strip():
        return micros, ""
    clock = _CLOCK.match(rest)
    if clock is None:
        raise BadRecord(f"no timestamp: {text[:40]}")
    return micros + _clock_us(clock, text), rest[clock.end() :]


def _day(found: re.Match[str], text: str) -> int:
    try:
        return date(int(found[1]), int(found[2]), int(found[3])).toordinal() - EPOCH_ORDINAL
    except ValueError:
        raise BadRecord(f"no day of the calendar: {text[:40]}") from None


def _clock_us(found: re.Match[str], text: str) -> int:
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise BadRecord(f"no time of day: {text[:40]}")
    return (hour * 3600 + minute * 60 + second) * SECOND_US + _fraction_us(found[4])


def _fraction_us(digits: str | None) -> int:
    # Finer than a microsecond is cut off, as Spark does.
    return int((digits or "0").ljust(6, "0")[:6])


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


def _remember(head: str, tail: str) -> None:
    # At the ends of our calendar a zone's offset decides: those are read each time.
    if not _PLAIN_HEAD.fullmatch(head) or head[:4] in {"0001", "9999"}:
        return
    found = _TAIL.fullmatch(tail)
    if found is None:
        return
    for known in (heads, tails):
        if len(known) >= MOST_REMEMBERED:
            known.clear()
    heads[head] = _parsed(head)
    tails[tail] = _fraction_us(found[1]) - _offset_us(found[2], tail)


def _text_of_seconds(seconds: int) -> str:
    days, second = divmod(seconds, DAY_S)
    minutes, second = divmod(second, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{date_text(days)}T{hour:02d}:{minute:02d}:{second:02d}"
    if len(_seconds_text) >= MOST_REMEMBERED:
        _seconds_text.clear()
    _seconds_text[seconds] = text
    return text


def _text_of_fraction(fraction: int) -> str:
    text = f".{fraction:06d}Z"
    if len(_fraction_text) >= MOST_REMEMBERED:
        _fraction_text.clear()
    _fraction_text[fraction] = text
    return text
