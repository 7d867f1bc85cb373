"""A whole replay, decided before it begins: pinned sources, steps, and what they cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import msgspec

from backfill.plan.conditions import Condition  # noqa: TC001 - a kept plan is read by its types
from backfill.plan.lookups import PlannedLookup  # noqa: TC001 - a kept plan is read by its types
from backfill.plan.period import Period  # noqa: TC001 - a kept plan is read by its types
from backfill.plan.steps import Step
from backfill.plan.widening import PlannedWatermark  # noqa: TC001 - a kept plan is read by its types
from headrace import state_files
from headrace.contract import INGESTION_TS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from backfill.plan.units import Unit

Order = Literal["bounded", "any", "strict"]
WORST = 5


@dataclass(frozen=True, slots=True)
class WorstFile:
    """A file of which much is read more than once, as its rows lie far apart in time."""

    path: str
    width_us: int
    units: int
    bytes_read_again: int


@dataclass(frozen=True, slots=True)
class FileWithoutTimes:
    """A file with rows that have no time, and so are of no period."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """One table in a plan.

    `bytes_read_again` is what cutting row groups costs; `rows_partly` is how many of the rows
    may not all be part of the replay. `null_times` of the rows have no time, and are passed over; the
    files that have the most of them are named. The table is complete up to a time, and the period
    may go on beyond it (None: no writer says). No row group is wider than `widest_group_us`. Only rows that
    meet the conditions are delivered; of files that cannot have any nothing is read. The columns
    stay those of `schema_id`, whatever becomes of the table while the replay goes on.
    """

    name: str
    snapshot_id: int | None
    files: int
    files_cut: int
    units: int
    rows: int
    rows_partly: int
    size_bytes: int
    bytes_read_again: int
    widest_group_us: int
    worst: tuple[WorstFile, ...] = ()
    conditions: tuple[Condition, ...] = ()
    files_skipped: int = 0
    rows_skipped: int = 0
    null_times: int = 0
    null_times_in: tuple[FileWithoutTimes, ...] = ()
    complete_up_to: str | None = None
    beyond_complete: bool | None = None
    schema_id: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a replay will do, in which order. `threshold_us` counts in bounded order alone."""

    period: Period
    regions: tuple[str, ...]
    order: Order
    threshold_us: int
    sources: tuple[PlannedSource, ...]
    steps: tuple[Step, ...]
    time_column: str = INGESTION_TS
    lookups: tuple[PlannedLookup, ...] = ()
    watermarks: tuple[PlannedWatermark, ...] = ()
    # Whether windows that are open at the end are closed, by a last step without units.
    closes: bool = False

    @property
    def rows(self) -> int:
        """How many rows there are to deliver by metadata: at the period's edges there may be fewer."""
        return sum(step.rows for step in self.steps)

    @property
    def null_times(self) -> int:
        """How many rows more there are that have no time."""
        return sum(source.null_times for source in self.sources)

    @property
    def smallest_free_threshold_us(self) -> int:
        """A threshold from which on nothing is read twice in bounded order."""
        return max((source.widest_group_us for source in self.sources), default=0)

    @property
    def state_window_us(self) -> int:
        """How much time an application has to keep in mind at the most: the widest step."""
        return max((span_us(step) for step in self.steps), default=0)

    @property
    def has_end(self) -> bool:
        """Whether the last step has no records: all that it does is to move the watermark."""
        return bool(self.steps) and not self.steps[-1].units

    @property
    def steps_with_records(self) -> int:
        """How many steps there are before that one."""
        return len(self.steps) - self.has_end

    def widening(self) -> dict[str, timedelta]:
        """Return by how much the watermark of each source is wider than live."""
        return {
            one.source: timedelta(microseconds=one.widened_by_us or 0) for one in self.watermarks
        }

    def ending(self, *, closes: bool) -> Plan:
        """Return the plan with a step at its end in which the watermark moves on.

        It `closes` the windows that are still open, or moves to where it is live. Of nothing there
        is no end.
        """
        if not self.steps:
            return self
        last = Step(len(self.steps), self.period.end_us_exclusive, ())
        return replace(self, steps=(*self.steps, last), closes=closes)

    def write(self, path: Path) -> None:
        """Keep the plan: what it is of in the first line, then a line for each step."""
        encoder = msgspec.json.Encoder()
        with state_files.writing(path) as file:
            file.write(encoder.encode(replace(self, steps=())) + b"\n")
            file.writelines(encoder.encode(step) + b"\n" for step in self.steps)


def read_plan(path: Path) -> Plan:
    """Read a plan that was kept."""
    steps = msgspec.json.Decoder(Step)
    with path.open("rb") as file:
        head = msgspec.json.decode(file.readline(), type=Plan)
        return replace(head, steps=tuple(steps.decode(line) for line in file))


def read_head(path: Path) -> Plan:
    """Read what a kept plan is of, without its steps."""
    with path.open("rb") as file:
        return msgspec.json.decode(file.readline(), type=Plan)


def planned_source(
    name: str,
    snapshot_id: int | None,
    files: Sequence[Unit],
    units: Sequence[Unit],
    widest_group_us: int,
) -> PlannedSource:
    """Sum up what a table brings into a plan."""
    pieces = Counter(unit.path for unit in units)
    again = read_again(units)
    widths = {file.path: file.width_us for file in files}
    worst = sorted(again.items(), key=lambda item: (-item[1], item[0]))[:WORST]
    return PlannedSource(
        name=name,
        snapshot_id=snapshot_id,
        files=len(files),
        files_cut=sum(1 for count in pieces.values() if count > 1),
        units=len(units),
        rows=sum(unit.rows for unit in units),
        rows_partly=sum(unit.rows for unit in units if unit.partly),
        size_bytes=sum(file.size_bytes for file in files),
        bytes_read_again=sum(again.values()),
        widest_group_us=widest_group_us,
        worst=tuple(
            WorstFile(path, widths.get(path, 0), pieces[path], size) for path, size in worst
        ),
    )


def span_us(step: Step) -> int:
    """Return how much time a step holds."""
    newest_us = max((unit.max_ts_us for unit in step.units), default=step.frontier_us)
    return newest_us - step.frontier_us


def read_again(units: Iterable[Unit]) -> dict[str, int]:
    """Return the bytes of each file beyond the first time that they are read."""
    seen: set[tuple[str, int]] = set()
    again: dict[str, int] = {}
    for unit in units:
        if unit.row_groups is None and unit.window_us is None:
            continue
        groups = range(*(unit.row_groups or (-1, 0)))
        for group in groups:
            if (unit.path, group) in seen:
                size = unit.size_bytes // len(groups)
                again[unit.path] = again.get(unit.path, 0) + size
            seen.add((unit.path, group))
    return again
