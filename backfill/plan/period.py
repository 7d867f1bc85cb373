"""The part of the past that is replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from headrace.errors import UsageError
from headrace.times import format_time_us, parse_time_us

if TYPE_CHECKING:
    from backfill.plan.units import Unit

UNITS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000))


@dataclass(frozen=True, slots=True)
class Period:
    """Half-open: a record at `end_us_exclusive` is not part of it."""

    start_us: int
    end_us_exclusive: int

    def __str__(self) -> str:
        return f"[{format_time_us(self.start_us)}, {format_time_us(self.end_us_exclusive)})"

    def span_us(self, window_us: tuple[int, int] | None) -> tuple[int, int]:
        """Return the half-open span that a window shares with the period."""
        if window_us is None:
            return self.start_us, self.end_us_exclusive
        return max(window_us[0], self.start_us), min(window_us[1], self.end_us_exclusive)

    def clip(self, unit: Unit) -> Unit | None:
        """Return a unit with its bounds inside the period; None where it lies outside."""
        if unit.max_ts_us < self.start_us or unit.min_ts_us >= self.end_us_exclusive:
            return None
        low = max(unit.min_ts_us, self.start_us)
        high = min(unit.max_ts_us, self.end_us_exclusive - 1)
        if (low, high) == (unit.min_ts_us, unit.max_ts_us):
            return unit
        return replace(unit, min_ts_us=low, max_ts_us=high, partly=True)


def parse_period(start: str, end: str) -> Period:
    """Read a period; refuse one that holds nothing."""
    period = Period(parse_time_us(start), parse_time_us(end))
    if period.start_us >= period.end_us_exclusive:
        raise UsageError(
            f"the period {period} is empty",
            "--start-ts must lie before --end-ts (which is not included)",
        )
    return period


def duration(time_us: int) -> str:
    """Write a length of time, never shorter than it is: its two largest units, or fewer digits."""
    if time_us < 1_000_000:
        return f"{-(-time_us // 1000)} ms"
    if time_us < UNITS[2][1]:
        return f"{-(-time_us // 1000) / 1000:g} s"
    largest = next(index for index, (_, us) in enumerate(UNITS) if time_us >= us)
    _, smallest_us = UNITS[min(largest + 1, len(UNITS) - 1)]
    time_us = -(-time_us // smallest_us) * smallest_us
    parts = []
    for name, us in UNITS:
        count, time_us = divmod(time_us, us)
        if count:
            parts.append(f"{count}{name}")
    return " ".join(parts)
