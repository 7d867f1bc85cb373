"""The part of the past that is replayed."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import UsageError
from headrace.times import format_time_us, parse_time_us


@dataclass(frozen=True, slots=True)
class Period:
    """Half-open: a record at `end_us_exclusive` is not part of it."""

    start_us: int
    end_us_exclusive: int

    def __str__(self) -> str:
        return f"[{format_time_us(self.start_us)}, {format_time_us(self.end_us_exclusive)})"


def parse_period(start: str, end: str) -> Period:
    """Read a period; refuse one that holds nothing."""
    period = Period(parse_time_us(start), parse_time_us(end))
    if period.start_us >= period.end_us_exclusive:
        raise UsageError(
            f"the period {period} is empty",
            "--start-ts must lie before --end-ts (which is not included)",
        )
    return period
