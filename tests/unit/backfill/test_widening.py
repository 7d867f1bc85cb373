"""No record that was in time is dropped, on random arrivals, against Spark's rule played record by record."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.plan.cutting import fine_grid
from backfill.plan.steps import Limits, Step, bounded, unordered
from backfill.plan.strict import Stretch, cell_us, strict
from backfill.plan.units import NO_EVENTS, EventColumns, Unit
from backfill.plan.widening import PlannedWatermark, Watermark, widen
from headrace.application.ahead_of_time import Ahead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MS = 1_000
ROOMY = Limits(max_rows=10**9, max_bytes=10**12)
MINUTE = 60_000 * MS


@dataclass(frozen=True, slots=True)
class Row:
    """A record: when it arrived, and its own time. `None` is one without."""

    arrived: int
    event: int | None
    file: str
    group: int
    source: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """Records in their files, and how they are replayed."""

    rows: tuple[Row, ...]
    threshold: int
    limits: Limits
    delays: Mapping[str, int]
    ahead: Ahead | None

    @property
    def watermarks(self) -> list[Watermark]:
        """A watermark for each source, its table of the same name."""
        return [
            Watermark(source, source, "event", delay, self.ahead, self.ahead is not None)
            for source, delay in self.delays.items()
        ]

    @property
    def events(self) -> EventColumns:
        """What the plan knows of a table."""
        return EventColumns(("event",), self.ahead)


milliseconds = st.integers(0, 40)
few = st.integers(0, 3)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw arrivals that keep pace, burst after an outage, lie, or have no time at all."""
    rows = []
    for number in range(draw(st.integers(1, 25))):
        source = draw(st.sampled_from("ab"))
        arrived = draw(milliseconds)
        event = draw(
            st.one_of(
                st.integers(arrived - 2, arrived + 2),
                st.just(arrived * 20),
                st.integers(-50, 50),
                st.just(10_000),
                st.none(),
            )
        )
        file = f"{source}{draw(few)}"
        own = None if event is None else event * MS
        rows.append(Row(arrived * MS, own, file, draw(st.integers(0, 1)), source, number))
    limits = draw(st.sampled_from([ROOMY, Limits(3, 10**9), Limits(1, 1)]))
    bound = st.builds(
        Ahead, st.just("event"), milliseconds.map(MS.__mul__), st.sampled_from(["clamp", "drop"])
    )
    delays = {source: draw(st.integers(0, 10)) * MS for source in "ab"}
    return Case(tuple(rows), draw(milliseconds) * MS, limits, delays, draw(st.none() | bound))


def seen(rows: Iterable[Row], ahead: Ahead | None) -> Iterator[Row]:
    """Yield the records as the application is given them."""
    for row in rows:
        if ahead is None or row.event is None or row.event <= row.arrived + ahead.limit_us:
            yield row
        elif ahead.action == "clamp":
            yield replace(row, event=row.arrived + ahead.limit_us)


def span(rows: Iterable[Row]) -> tuple[int, int]:
    times = [row.event for row in rows if row.event is not None]
    return (min(times), max(times)) if times else NO_EVENTS


def file_of(rows: Sequence[Row], events: EventColumns, group: int | None = None) -> Unit:
    times = [row.arrived for row in rows]
    low, high = min(times), max(times)
    spans = events.kept((span(rows),), (low, high))
    size = 100 * len(rows) if group is None else 100
    groups = None if group is None else (group, group + 1)
    file = rows[0].source, rows[0].file
    return Unit(*file, low, high, len(rows), size, row_groups=groups, events=spans)


def by_file(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[row.file].append(row)
    return found


def cut(case: Case) -> Iterator[Unit]:
    """Cut files as a table is cut: by what a footer says, or row by row."""
    for rows in by_file(case.rows).values():
        whole = file_of(rows, case.events)
        if whole.width_us <= case.threshold:
            yield whole
            continue
        for number in sorted({row.group for row in rows}):
            held = [row for row in rows if row.group == number]
            unit = file_of(held, case.events, number)
            if unit.width_us <= case.threshold:
                yield unit
                continue
            grid = fine_grid(0, case.threshold, unit.width_us)
            cells = defaultdict(list)
            for row in held:
                cells[(row.arrived - grid.origin_us) // grid.cell_us].append(row)
            for cell, inside in cells.items():
                arrived_us = [row.arrived for row in inside]
                times = min(arrived_us), max(arrived_us)
                events = (span(seen(inside, case.ahead)),)
                yield grid.slice_of(unit, cell, times, len(inside), events)


def delivered(step: Step, rows: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Return the records of a step."""
    return [
        row
        for unit in step.units
        for row in rows.get(unit.path, ())
        if (unit.row_groups is None or row.group in range(*unit.row_groups))
        and (unit.window_us is None or unit.window_us[0] <= row.arrived < unit.window_us[1])
        and (
            not step.ranges
            or any(
                one.source == row.source and one.first <= row.offset < one.end_exclusive
                for one in step.ranges
            )
        )
    ]


def dropped(
    case: Case, steps: Sequence[Step], marks: Sequence[PlannedWatermark], sources: str
) -> list[tuple[Row, int]]:
    """Play Spark's rule: what is not after the least watermark at its batch's start is dropped."""
    rows = by_file(seen(case.rows, case.ahead))
    newest: dict[str, int] = {}
    lost = []
    for step in steps:
        batch = delivered(step, rows)
        held = [
            newest[one.source] - one.delay_us - (one.widened_by_us or 0)
            if one.source in newest
            else -(10**18)
            for one in marks
            if one.source in sources
        ]
        lost += [
            (row, min(held)) for row in batch if row.event is not None and row.event <= min(held)
        ]
        for row in batch:
            if row.event is not None:
                newest[row.source] = max(row.event, newest.get(row.source, row.event))
    return lost


def was_in_time(row: Row, case: Case, sources: str) -> bool:
    """Whether a record was, by arrival, not behind the least of the sources' live watermarks."""
    kept = list(seen(case.rows, case.ahead))
    held = []
    for source in sources:
        before = [
            one.event
            for one in kept
            if one.source == source and one.arrived < row.arrived and one.event is not None
        ]
        held.append(max(before) - case.delays[source] if before else -(10**18))
    return row.event is not None and row.event >= min(held)


def check(case: Case, steps: Sequence[Step], marks: Sequence[PlannedWatermark]) -> None:
    """Nothing that was in time is dropped: by the watermark of its own source, or by the least."""
    assert [one.unknown for one in marks] == [None, None]
    for sources in ("a", "b", "ab"):
        lost = dropped(case, steps, marks, sources)
        of_these = [(row, at) for row, at in lost if row.source in sources]
        assert [one for one in of_these if was_in_time(one[0], case, sources)] == []


def arrived(units: Iterable[Unit]) -> dict[str, list[Unit]]:
    found = defaultdict(list)
    for unit in units:
        found[unit.source].append(unit)
    return found


@settings(max_examples=150)
@given(cases())
def test_in_bounded_order_no_record_that_was_in_time_is_dropped(case: Case) -> None:
    units = list(cut(case))
    steps = list(bounded(units, case.threshold, case.limits))
    check(case, steps, widen(case.watermarks, steps, arrived(units)))


@settings(max_examples=100)
@given(cases())
def test_nor_in_any_order(case: Case) -> None:
    units = [file_of(rows, case.events) for rows in by_file(case.rows).values()]
    steps = list(unordered(units, case.limits))
    check(case, steps, widen(case.watermarks, steps, arrived(units)))


@settings(max_examples=100)
@given(cases())
def test_nor_in_strict_order(case: Case) -> None:
    found = []
    for rows in by_file(case.rows).values():
        cells = defaultdict(list)
        for row in rows:
            cells[row.group, row.arrived // cell_us(case.threshold)].append(row)
        found += [
            Stretch(
                file_of([row for row in rows if row.group == group], case.events, group),
                "t",
                0,
                cell,
                min(row.offset for row in held),
                max(row.offset for row in held),
                min(row.arrived for row in held),
                max(row.arrived for row in held),
                len(held),
                (span(seen(held, case.ahead)),),
            )
            for (group, cell), held in cells.items()
        ]
    steps = list(strict(found, case.threshold, case.limits))
    by_table = defaultdict(list)
    for one in found:
        by_table[one.of.source].append(one)
    check(case, steps, widen(case.watermarks, steps, by_table))


@given(cases(), st.integers(0, 5))
def test_where_event_time_keeps_pace_the_threshold_is_enough(case: Case, late: int) -> None:
    """Of records at most the delay late, a watermark is never wider than by the threshold."""
    rows = tuple(
        replace(row, event=row.arrived - row.offset % (late + 1) * MS) for row in case.rows
    )
    paced = replace(case, rows=rows, ahead=None, delays=dict.fromkeys("ab", late * MS))
    units = list(cut(paced))
    steps = list(bounded(units, paced.threshold, paced.limits))
    for one in widen(paced.watermarks, steps, arrived(units)):
        assert one.widened_by_us is not None
        assert one.widened_by_us <= paced.threshold + MS
