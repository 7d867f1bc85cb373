"""What a replay that runs in this process reports over HTTP."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from headrace.http.board import Facts
from headrace.http.rows import ReplayRow, ReplaySourceRow
from headrace.metrics.definitions import (
    BACKFILL_ETA,
    BACKFILL_FILES,
    BACKFILL_FILES_DONE,
    BACKFILL_FRONTIER,
    BACKFILL_PROGRESS,
    RECORDS_IN,
    WATERMARK,
    WATERMARK_DRIFT,
)
from headrace.metrics.text import Sample
from headrace.times import SECOND_US, format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from backfill.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a replay is: steps, rows, and the newest record of each source."""

    steps_done: int = 0
    rows: int = 0
    newest_us: Mapping[str, int] = field(default_factory=dict)


def reach_by_bounds(plan: Plan, steps_done: int, rows: int) -> Reach:
    """Return how far a replay of another process is: its newest records by the bounds of files."""
    newest_us: dict[str, int] = {}
    for step in plan.steps[:steps_done]:
        for unit in step.units:
            last_us = unit.max_ts_us
            if unit.window_us is not None:
                last_us = min(last_us, unit.window_us[1] - 1)
            last_us = min(last_us, plan.period.end_us_exclusive - 1)
            newest_us[unit.source] = max(last_us, newest_us.get(unit.source, last_us))
    return Reach(steps_done, rows, newest_us)


class ReplayFacts(Facts):
    """A replay by its plan; `reached` says how far it is by now."""

    def __init__(self, run_id: str, plan: Plan, begun: Reach) -> None:
        self._run_id = run_id
        self._plan = plan
        self._begun = self._reach = begun
        self._begun_s = time.monotonic()
        last_steps = {unit.path: step.number for step in plan.steps for unit in step.units}
        ends = Counter(last_steps.values())
        # By the number of steps that are done.
        self._files_done = [0, *accumulate(ends[number] for number in range(len(plan.steps)))]
        self._units: dict[str, list[tuple[int, int]]] = {one.name: [] for one in plan.sources}
        for step in plan.steps:
            first_us: dict[str, int] = {}
            for unit in step.units:
                first_us[unit.source] = min(
                    unit.min_ts_us, first_us.get(unit.source, unit.min_ts_us)
                )
            for name, us in first_us.items():
                self._units.setdefault(name, []).append((step.number, us))

    def reached(self, reach: Reach) -> None:
        """Store how far the replay is. A source without new records stays where it was."""
        self._reach = replace(reach, newest_us={**self._reach.newest_us, **reach.newest_us})

    def jobs(self) -> Sequence[tuple[str, str]]:
        """Return the run."""
        return [("replay", self._run_id)]

    def replays(self) -> Sequence[ReplayRow]:
        """Return the run, as it is at this time."""
        reach, plan = self._reach, self._plan
        frontier_us = self._frontier_us(reach)
        return [
            ReplayRow(
                self._run_id,
                "running",
                reach.steps_done,
                len(plan.steps),
                reach.rows,
                plan.rows,
                self._eta_s(reach),
                None if frontier_us is None else format_time_us(frontier_us),
                plan.threshold_us // 1000 if plan.order == "bounded" else None,
                [self._source(name, reach) for name in self._units],
            )
        ]

    def samples(self) -> Iterator[Sample]:
        """Return the metrics of the run."""
        reach, plan, labels = self._reach, self._plan, {"replay": self._run_id}
        yield Sample(RECORDS_IN, labels, reach.rows - self._begun.rows)
        yield Sample(BACKFILL_FILES, labels, self._files_done[-1])
        yield Sample(BACKFILL_FILES_DONE, labels, self._files_done[reach.steps_done])
        steps = len(plan.steps)
        yield Sample(BACKFILL_PROGRESS, labels, reach.steps_done / steps if steps else 1.0)
        if (eta_s := self._eta_s(reach)) is not None:
            yield Sample(BACKFILL_ETA, labels, eta_s)
        if (frontier_us := self._frontier_us(reach)) is not None:
            yield Sample(BACKFILL_FRONTIER, labels, frontier_us / SECOND_US)
        for name, us in reach.newest_us.items():
            yield Sample(WATERMARK, {**labels, "source": name}, us / SECOND_US)
        if times := list(reach.newest_us.values()):
            yield Sample(WATERMARK_DRIFT, labels, (max(times) - min(times)) / SECOND_US)

    def _frontier_us(self, reach: Reach) -> int | None:
        """Return the time before which everything is delivered."""
        steps = self._plan.steps
        if reach.steps_done < len(steps):
            return steps[reach.steps_done].frontier_us
        return self._plan.period.end_us_exclusive if steps else None

    def _eta_s(self, reach: Reach) -> float | None:
        passed_s = time.monotonic() - self._begun_s
        rows = reach.rows - self._begun.rows
        if rows <= 0 or passed_s <= 0:
            return None
        return round(max(0, self._plan.rows - reach.rows) * passed_s / rows, 1)

    def _source(self, name: str, reach: Reach) -> ReplaySourceRow:
        newest_us, units = reach.newest_us.get(name), self._units[name]
        left = bisect_left(units, (reach.steps_done,))
        next_us = units[left][1] if left < len(units) else None
        return ReplaySourceRow(
            name,
            None if newest_us is None else format_time_us(newest_us),
            None if next_us is None else format_time_us(next_us),
            None if next_us is None else self._held_back_by(next_us, reach),
        )

    def _held_back_by(self, next_us: int, reach: Reach) -> str | None:
        """Return whose file is at the frontier, where a source has to wait for that."""
        plan = self._plan
        if plan.order != "bounded" or reach.steps_done >= len(plan.steps):
            return None
        step = plan.steps[reach.steps_done]
        if not step.units or next_us <= step.frontier_us + plan.threshold_us:
            return None
        oldest = min(step.units, key=lambda unit: unit.min_ts_us)
        return f"{oldest.source}: {oldest.path.rpartition('/')[2]}"
