"""Points in time as users write and read them: ISO-8601, UTC, microseconds inside."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from headrace.errors import UsageError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND_US = timedelta(seconds=1) // MICROSECOND
DAY_S = 86_400
DAY_US = DAY_S * SECOND_US
EPOCH_ORDINAL = EPOCH.toordinal()
# The years that every reader knows, Python and SQL among them: 0001 to 9999.
FIRST_DAY = date.min.toordinal() - EPOCH_ORDINAL
LAST_DAY = date.max.toordinal() - EPOCH_ORDINAL
FIRST_US = FIRST_DAY * DAY_US
LAST_US = (LAST_DAY + 1) * DAY_US - 1
YEARS_OF_CYCLE = 400
CYCLE_US = 146_097 * DAY_US
CYCLE_START_US = (datetime(2000, 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND
LAST_PLAIN_YEAR = 9999


def parse_time_us(text: str) -> int:
    """Read an ISO-8601 time; one without a zone is in UTC."""
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text} is not a time", "write it as ISO-8601, for example 2026-03-01T00:00:00Z"
        ) from None
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (aware - EPOCH) // MICROSECOND


def format_time_us(time_us: int) -> str:
    """Write a time with microseconds, in UTC; a year beyond 9999 with its sign, as ISO-8601 has it.

    Python's own datetime ends there, and a producer's clock does not.
    """
    # The calendar repeats itself every 400 years: it is read in the cycle that began in 2000.
    cycles, within_us = divmod(time_us - CYCLE_START_US, CYCLE_US)
    whole = EPOCH + timedelta(microseconds=CYCLE_START_US + within_us)
    year = whole.year + YEARS_OF_CYCLE * cycles
    shown = f"{year:04d}" if 0 <= year <= LAST_PLAIN_YEAR else f"{year:+05d}"
    return f"{shown}{whole.replace(tzinfo=None).isoformat(timespec='microseconds')[4:]}Z"
