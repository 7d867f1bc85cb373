"""The part of the past that is replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.times import format_time_us, parse_time_us

if TYPE_CHECKING:
    from backfill.units import RowGroup, Unit


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
        """Return a file with its bounds inside the period; None where it lies outside."""
        if unit.max_ts_us < self.start_us or unit.min_ts_us >= self.end_us_exclusive:
            return None
        if self.start_us <= unit.min_ts_us and unit.max_ts_us < self.end_us_exclusive:
            return unit
        low, high = self._inside(unit.min_ts_us, unit.max_ts_us)
        return replace(unit, min_ts_us=low, max_ts_us=high, partly=True)

    def clip_group(self, group: RowGroup) -> RowGroup | None:
        """Return a row group with its bounds inside the period; None where it lies outside."""
        if group.max_ts_us < self.start_us or group.min_ts_us >= self.end_us_exclusive:
            return None
        low, high = self._inside(group.min_ts_us, group.max_ts_us)
        partly = (low, high) != (group.min_ts_us, group.max_ts_us)
        return replace(group, min_ts_us=low, max_ts_us=high, partly=partly)

    def _inside(self, low_us: int, high_us: int) -> tuple[int, int]:
        return max(low_us, self.start_us), min(high_us, self.end_us_exclusive - 1)


def parse_period(start: str, end: str) -> Period:
    """Read a period; refuse one that holds nothing."""
    period = Period(parse_time_us(start), parse_time_us(end))
    if period.start_us >= period.end_us_exclusive:
        raise UsageError(
            f"the period {period} is empty",
            "--start-ts must lie before --end-ts (which is not included)",
        )
    return period
