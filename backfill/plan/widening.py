"""By how much a replay's watermarks have to be wider than the live ones, so that they drop nothing.

A record is in time if its event time is not older than the newest that had arrived before it, less
the delay. A replay delivers some records before others that had arrived earlier, and its watermark
follows what it has delivered. Where the event times of the former run ahead, the watermark is too
far for the latter: after an outage an hour of events arrives within two minutes.

The steps are known, so nothing needs to be assumed of how fast event time goes. Before a step the
watermark stands at the newest event of all earlier steps, less its delay. No record of the step has
arrived before the step's frontier. So the watermark has to stay behind one of two:
- the newest event that had arrived before the frontier, less the delay: live it was as far by then;
- the oldest event of the step: then it drops nothing, in time or not.

The first is known from units that end before the frontier; a unit's greatest time is one of a
record in it. The frontier and the oldest event are those of all sources, as the least watermark of
all is the one that counts.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from backfill.plan.units import NO_EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from backfill.plan.steps import Step
    from backfill.plan.strict import Stretch
    from backfill.plan.units import Span, Unit
    from headrace.application.ahead_of_time import Ahead

US_PER_MS = 1000
NEVER_US = NO_EVENTS[1]
# So far ahead of its arrival is a clock that is wrong, not one that is fast.
FROM_THE_FUTURE_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Watermark:
    """The watermark of one source of an application, and the table that the source is replayed from.

    `ahead` is set where records that are further ahead of their arrival are held back, and the
    replay's own times are those arrivals; `is_thinned` where records may be held back at all.
    """

    source: str
    table: str
    column: str
    delay_us: int
    ahead: Ahead | None = None
    is_thinned: bool = False


@dataclass(frozen=True, slots=True)
class Cause:
    """What a watermark is widened for.

    Before the step, `newest_us` was delivered, of a file whose records had arrived by
    `file_until_us`; the oldest record of the step had arrived at `frontier_us`.
    """

    step: int
    frontier_us: int
    newest_us: int
    file: str
    file_until_us: int

    @property
    def ahead_us(self) -> int:
        """How far the event is ahead of the last arrival in its file."""
        return self.newest_us - self.file_until_us


@dataclass(frozen=True, slots=True)
class PlannedWatermark:
    """A watermark in a plan. `widened_by_us` is None where `unknown` says why it is not known."""

    source: str
    table: str
    column: str
    delay_us: int
    widened_by_us: int | None
    unknown: str | None = None
    cause: Cause | None = None
    is_given: bool = False

    @property
    def is_from_the_future(self) -> bool:
        """Whether it is widened by more than a day for a record that no right clock has made."""
        cause, widened = self.cause, self.widened_by_us
        return (
            cause is not None
            and widened is not None
            and min(widened, cause.ahead_us) > FROM_THE_FUTURE_US
        )


def columns_of(watermarks: Iterable[Watermark]) -> dict[str, tuple[str, ...]]:
    """Return which columns of each table a watermark goes by: the order of a unit's `events`."""
    found: dict[str, dict[str, None]] = {}
    for one in watermarks:
        found.setdefault(one.table, {})[one.column] = None
    return {table: tuple(columns) for table, columns in found.items()}


def widened_as_given(
    watermarks: Iterable[Watermark | PlannedWatermark], widened_by_us: int
) -> tuple[PlannedWatermark, ...]:
    """Widen all watermarks by what somebody has said."""
    return tuple(
        PlannedWatermark(
            one.source, one.table, one.column, one.delay_us, widened_by_us, is_given=True
        )
        for one in watermarks
    )


def widen(
    watermarks: Sequence[Watermark],
    steps: Sequence[Step],
    arrived: Mapping[str, Sequence[Unit | Stretch]],
) -> tuple[PlannedWatermark, ...]:
    """Widen each watermark as these steps ask; `arrived` is what each table has, before any cutting."""
    columns = columns_of(watermarks)
    oldest = [_oldest_us(step, columns) for step in steps]
    return tuple(_widen(one, columns, steps, oldest, arrived) for one in watermarks)


def _widen(
    watermark: Watermark,
    columns: Mapping[str, Sequence[str]],
    steps: Sequence[Step],
    oldest_us: Sequence[int | None],
    arrived: Mapping[str, Sequence[Unit | Stretch]],
) -> PlannedWatermark:
    index = columns[watermark.table].index(watermark.column)
    before = _SeenLive(arrived.get(watermark.table, ()), index, watermark)
    name = watermark.source, watermark.table, watermark.column, watermark.delay_us
    newest_us, file = NEVER_US, ("", 0)
    need_us, cause = 0, None
    for step, least_us in zip(steps, oldest_us, strict=True):
        if newest_us > NEVER_US and least_us != NO_EVENTS[0]:
            live_us = before.newest_us(step.frontier_us)
            last_us = None if least_us is None else least_us + watermark.delay_us
            held_us = max((one for one in (live_us, last_us) if one is not None), default=None)
            if held_us is None:
                path = _without_bounds(step, columns)
                return PlannedWatermark(*name, None, _no_bounds("event times", path))
            if newest_us - held_us + 1 > need_us:
                need_us = newest_us - held_us + 1
                cause = Cause(step.number, step.frontier_us, newest_us, *file)
        for unit in step.units:
            if unit.source != watermark.table:
                continue
            span = unit.events[index]
            if span is None:
                return PlannedWatermark(*name, None, _no_bounds(watermark.column, unit.path))
            if span[1] > newest_us:
                newest_us, file = span[1], (unit.path, unit.max_ts_us)
    # Spark's watermarks are in milliseconds.
    return PlannedWatermark(*name, -(-need_us // US_PER_MS) * US_PER_MS, None, cause)


class _SeenLive:
    """Which event a live run had surely seen before a time: the newest of what had arrived whole."""

    def __init__(self, units: Iterable[Unit | Stretch], index: int, watermark: Watermark) -> None:
        ends = sorted(
            (unit.max_ts_us, event_us)
            for unit in units
            if (event_us := _surely_seen(unit, unit.events[index], watermark)) is not None
        )
        self._times = [time_us for time_us, _ in ends]
        self._newest = list(accumulate((event_us for _, event_us in ends), max))

    def newest_us(self, before_us: int) -> int | None:
        """Return the newest event that had arrived before a time, as far as that is sure."""
        ended = bisect_left(self._times, before_us)
        return self._newest[ended - 1] if ended else None


def _surely_seen(unit: Unit | Stretch, span: Span | None, watermark: Watermark) -> int | None:
    """Return an event time that a unit has a record of, or a later one, that is not held back."""
    if span is None or span == NO_EVENTS:
        return None
    if not watermark.is_thinned:
        return span[1]
    if watermark.ahead is None:
        return None
    # Whenever in the unit it arrived, before this time it is not too far ahead.
    limit_us = unit.min_ts_us + watermark.ahead.limit_us
    if watermark.ahead.action == "clamp":
        return min(span[1], limit_us)
    return next((event_us for event_us in reversed(span) if event_us < limit_us), None)


def _oldest_us(step: Step, columns: Mapping[str, Sequence[str]]) -> int | None:
    """Return the oldest event of a step: None where it is not known, the end of time if it has none."""
    spans = [span for unit in step.units if unit.source in columns for span in unit.events]
    if None in spans:
        return None
    return min((span[0] for span in spans if span is not None), default=NO_EVENTS[0])


def _no_bounds(column: str, path: str) -> str:
    return f"data file {path} has no bounds of {column}"


def _without_bounds(step: Step, columns: Mapping[str, Sequence[str]]) -> str:
    return next(unit.path for unit in step.units if unit.source in columns and None in unit.events)
