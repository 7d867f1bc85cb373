"""Points in time as users write and read them: ISO-8601, UTC, microseconds inside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headrace.errors import UsageError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def parse_time_us(text: str) -> int:
    """Read an ISO-8601 time; one without a zone is in UTC."""
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text} is no time", "write it as ISO-8601, for example 2026-03-01T00:00:00Z"
        ) from None
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (aware - EPOCH) // MICROSECOND


def format_time_us(time_us: int) -> str:
    """Write a time with microseconds, in UTC."""
    whole = (EPOCH + timedelta(microseconds=time_us)).replace(tzinfo=None)
    # strftime writes the year 33 with two digits.
    return whole.isoformat(timespec="microseconds") + "Z"
