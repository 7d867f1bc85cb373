"""Pictures with time from left to right: what tables hold, and what the steps of a plan hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import HeadraceError
from headrace.http.pages.time_axis import LEFT, WIDTH, short, ticks_between
from headrace.times import SECOND_US, format_time_us, parse_time_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.http.replay_rows import TableOverTime

HIGH: Final = 40
LANE: Final = 62
TOP: Final = 14
LINE: Final = 9
LONG_US: Final = 36 * 3_600 * SECOND_US
LEAST: Final = 1


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle, and what a pointer on it is told."""

    x: int
    y: int
    width: int
    height: int
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A table: a bar for each span of time that has rows; the time up to which it is complete."""

    name: str
    y: int
    bars: Sequence[Bar]
    gaps: Sequence[Bar]
    complete_x: int | None


@dataclass(frozen=True, slots=True)
class TimePicture:
    """Lanes over one axis of time, and the period that was chosen."""

    lanes: Sequence[Lane]
    ticks: Sequence[tuple[int, str]]
    height: int
    period: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class PlanPicture:
    """A line for each step, or for several of them."""

    bars: Sequence[Bar]
    labels: Sequence[tuple[int, str]]
    ticks: Sequence[tuple[int, str]]
    height: int


@dataclass(frozen=True, slots=True)
class _Axis:
    first_us: int
    last_us: int

    def at(self, us: int) -> int:
        span_us = max(1, self.last_us - self.first_us)
        return LEFT + max(0, min(WIDTH, WIDTH * (us - self.first_us) // span_us))

    def ticks(self) -> list[tuple[int, str]]:
        is_long = self.last_us - self.first_us > LONG_US
        shown = slice(5, 16) if is_long else slice(11, 16)
        return [
            (self.at(us), format_time_us(us)[shown].replace("T", " "))
            for us in ticks_between(self.first_us, self.last_us)
        ]


def tables_picture(tables: Iterable[TableOverTime], start: str, end: str) -> TimePicture | None:
    """Draw what tables hold over time; None where nothing is known."""
    known = [one for one in tables if one.start is not None and one.counts]
    if not known:
        return None
    starts = [parse_time_us(one.start or "") for one in known]
    ends = [
        first_us + len(one.counts) * one.each_s * SECOND_US
        for first_us, one in zip(starts, known, strict=True)
    ]
    axis = _Axis(min(starts), max(ends))
    lanes = [
        _lane(one, first_us, axis, TOP + number * LANE)
        for number, (one, first_us) in enumerate(zip(known, starts, strict=True))
    ]
    return TimePicture(lanes, axis.ticks(), TOP + len(lanes) * LANE + 18, _period(axis, start, end))


def _lane(table: TableOverTime, start_us: int, axis: _Axis, y: int) -> Lane:
    each_us, most = table.each_s * SECOND_US, max(table.counts)
    bars = []
    for number, count in enumerate(table.counts):
        if not count:
            continue
        begin_us = start_us + number * each_us
        x, end_x = axis.at(begin_us), axis.at(begin_us + each_us)
        height = max(2, HIGH * count // most)
        title = f"{_minute(begin_us)}: about {count:,} rows"
        bars.append(Bar(x, y + HIGH - height, max(1, end_x - x - 1), height, title))
    gaps = []
    for begin, end in table.gaps:
        x, end_x = axis.at(parse_time_us(begin)), axis.at(parse_time_us(end))
        title = f"no rows from {begin[:19]}Z to {end[:19]}Z"
        gaps.append(Bar(x, y, max(1, end_x - x), HIGH, title))
    upto = None if table.complete_up_to is None else parse_time_us(table.complete_up_to)
    is_seen = upto is not None and axis.first_us <= upto <= axis.last_us
    return Lane(short(table.table), y, bars, gaps, axis.at(upto) if upto and is_seen else None)


def _period(axis: _Axis, start: str, end: str) -> tuple[int, int] | None:
    try:
        x, end_x = axis.at(parse_time_us(start)), axis.at(parse_time_us(end))
    except (HeadraceError, OverflowError):
        # What was typed may be anything, and the form says so.
        return None
    return (x, max(LEAST, end_x - x)) if end_x >= x else None


def plan_picture(plan: Mapping[str, Any]) -> PlanPicture | None:
    """Draw the time that each step of a plan holds; None where it has no step."""
    lines = plan.get("picture") or []
    if not lines:
        return None
    spans = [(parse_time_us(one["start"]), parse_time_us(one["end"])) for one in lines]
    axis = _Axis(min(start for start, _ in spans), max(end for _, end in spans) + 1)
    bars, labels = [], []
    for number, (one, (start_us, end_us)) in enumerate(zip(lines, spans, strict=True)):
        x, y = axis.at(start_us), TOP + number * LINE
        last = one["step"] + one["steps"] - 1
        name = f"step {one['step']}" if one["steps"] == 1 else f"steps {one['step']} to {last}"
        title = f"{name}: {one['rows']:,} rows, {_minute(start_us)} to {_minute(end_us)}"
        bars.append(Bar(x, y, max(2, axis.at(end_us) - x), LINE - 2, title))
        if number % 5 == 0:
            labels.append((y + LINE - 2, f"{name}, {one['rows']:,} rows"))
    return PlanPicture(bars, labels, axis.ticks(), TOP + len(lines) * LINE + 18)


def _minute(us: int) -> str:
    return format_time_us(us)[:16].replace("T", " ")
