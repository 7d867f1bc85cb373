"""Delivering a plan: step after step, measured on the records, resumed where it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow.compute as pc

from backfill.certificate import Certificate, SourceCount
from backfill.columns import times_of
from backfill.disorder import DisorderMeter
from backfill.order_meter import OrderMeter
from backfill.pace import Drained
from backfill.reading import read_step

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Iterator, Mapping

    import pyarrow as pa

    from backfill.pace import Pace
    from backfill.plan import Plan
    from backfill.planner import Step
    from backfill.source import LakeSource
    from backfill.state import RunState
    from headrace.signals import Drain

MS = 1000


class Target(Protocol):
    """Where replayed records go. A step given again may replace or repeat, never lose."""

    @property
    def place(self) -> str:
        """Where that is, as `--to` says it."""

    def begin(self, sources: Mapping[str, LakeSource], /) -> None:
        """Learn of which tables records will come, before the first step."""

    def write_step(
        self, step: int, batches: Iterable[tuple[str, pa.RecordBatch]], pace: Pace, /
    ) -> Counter[str]:
        """Take a step; it is safe when this returns. Returns how many rows of each source."""

    def finish(self, certificate: str) -> None:
        """Take the certificate, at the end."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is, after a step, and the newest record of each source so far."""

    step: int
    steps: int
    rows: int
    rows_planned: int
    frontier_us: int
    newest_us: dict[str, int]


class Delivery:
    """One plan on its way to its target."""

    def __init__(self, plan: Plan, sources: Mapping[str, LakeSource], state: RunState) -> None:
        self._plan = plan
        self._sources = sources
        self._state = state
        self._position = state.position()
        self._meter = DisorderMeter(self._position.newest_us, self._position.max_disorder_us)
        self._order: OrderMeter | None = None
        if plan.order == "strict":
            self._order = OrderMeter(self._position.last_offsets, self._position.out_of_order)
        self._newest: dict[str, int] = {}

    def run(self, target: Target, drain: Drain, pace: Pace) -> Iterator[Progress]:
        """Deliver what is left; stops between two steps when asked to drain."""
        target.begin(self._sources)
        for step in self._plan.steps[self._position.steps_done :]:
            if drain.requested:
                return
            self._meter.begin_step()
            try:
                counts = target.write_step(step.number, self._measured(step), pace)
            except Drained:
                # At a low rate the rest of a step may take hours: it is given again, from its
                # beginning, when the run goes on.
                return
            # Rows first, position second: a crash repeats the step, and its file is the same.
            self._advance(step, counts)
            yield Progress(
                self._position.steps_done,
                len(self._plan.steps),
                sum(self._position.rows.values()),
                self._plan.rows,
                step.frontier_us,
                dict(self._newest),
            )

    def certificate(self) -> Certificate:
        """Return what was measured."""
        plan, position = self._plan, self._position
        return Certificate(
            period=str(plan.period),
            order=plan.order,
            steps=position.steps_done,
            threshold_ms=plan.threshold_us / MS if plan.order == "bounded" else None,
            max_disorder_ms=position.max_disorder_us / MS,
            dropped_late=0,
            complete=position.steps_done == len(plan.steps),
            sources=counted(plan, position.rows),
            offset_order_held=None if plan.order != "strict" else not position.out_of_order,
            time_column=plan.time_column,
            regions=plan.regions,
        )

    def _advance(self, step: Step, counts: Counter[str]) -> None:
        position = self._position
        for source, rows in counts.items():
            position.rows[source] = position.rows.get(source, 0) + rows
        position.steps_done = step.number + 1
        position.newest_us = self._meter.newest_us
        position.max_disorder_us = self._meter.max_disorder_us
        if self._order is not None:
            position.last_offsets = self._order.last
            position.out_of_order = self._order.out_of_order
        self._state.advance(position)

    def _measured(self, step: Step) -> Iterator[tuple[str, pa.RecordBatch]]:
        for source, batch in read_step(step, self._sources):
            bounds = pc.min_max(times_of(batch, self._plan.time_column))
            oldest, newest = bounds["min"].as_py(), bounds["max"].as_py()
            self._meter.see(oldest, newest)
            self._newest[source] = max(newest, self._newest.get(source, newest))
            if self._order is not None:
                self._order.see(source, batch)
            yield source, batch


def counted(
    plan: Plan,
    rows: Mapping[str, int],
    left_out: Mapping[str, int] | None = None,
    unread: Collection[str] = (),
) -> tuple[SourceCount, ...]:
    """Put what came of each source beside what the plan says there is.

    Of the unread ones nothing was to come; where rows of them did, they count as any.
    """
    return tuple(
        SourceCount(
            source.name,
            source.snapshot_id,
            source.files,
            rows.get(source.name, 0),
            source.rows - source.rows_partly,
            source.rows,
            (left_out or {}).get(source.name, 0),
            source.null_times,
            source.complete_up_to,
            source.beyond_complete,
            tuple(map(str, source.conditions)),
            is_unread=source.name in unread and not rows.get(source.name, 0),
        )
        for source in plan.sources
    )
