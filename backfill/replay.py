"""Delivering a plan: step after step, measured on the records, resumed where it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from backfill.certificate import Certificate, SourceCount
from backfill.columns import ingestion_times
from backfill.disorder import DisorderMeter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from backfill.jsonl import JsonlFolder
    from backfill.plan import Plan
    from backfill.planner import Step
    from backfill.source import LakeSource
    from backfill.state import RunState
    from headrace.signals import Drain

MS = 1000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is, after a step."""

    step: int
    steps: int
    rows: int
    rows_planned: int
    frontier_us: int


class Delivery:
    """One plan on its way to its target."""

    def __init__(self, plan: Plan, sources: Mapping[str, LakeSource], state: RunState) -> None:
        self._plan = plan
        self._sources = sources
        self._state = state
        self._position = state.position()
        self._meter = DisorderMeter(self._position.newest_us, self._position.max_disorder_us)

    def run(self, target: JsonlFolder, drain: Drain) -> Iterator[Progress]:
        """Deliver what is left; stops between two steps when asked to drain."""
        for step in self._plan.steps[self._position.steps_done :]:
            if drain.requested:
                return
            self._meter.begin_step()
            counts = target.write_step(step.number, self._rows(step))
            # Rows first, position second: a crash repeats the step, and its file is the same.
            self._position.rows.update(counts)
            self._position.steps_done = step.number + 1
            self._position.newest_us = self._meter.newest_us
            self._position.max_disorder_us = self._meter.max_disorder_us
            self._state.advance(self._position)
            yield Progress(
                self._position.steps_done,
                len(self._plan.steps),
                self._position.rows.total(),
                self._plan.rows,
                step.frontier_us,
            )

    def certificate(self) -> Certificate:
        """Return what was measured."""
        plan, position = self._plan, self._position
        threshold_us = plan.threshold_us if plan.order == "bounded" else None
        sources = tuple(
            SourceCount(source.name, source.snapshot_id, source.files, position.rows[source.name])
            for source in plan.sources
        )
        return Certificate(
            period=str(plan.period),
            order=plan.order,
            steps=position.steps_done,
            threshold_ms=None if threshold_us is None else threshold_us / MS,
            max_disorder_ms=position.max_disorder_us / MS,
            dropped_late=0,
            complete=position.steps_done == len(plan.steps),
            sources=sources,
        )

    def _rows(self, step: Step) -> Iterator[tuple[str, pa.RecordBatch]]:
        for unit in step.units:
            for batch in self._sources[unit.source].rows(unit):
                bounds = pc.min_max(ingestion_times(batch))
                self._meter.see(bounds["min"].as_py(), bounds["max"].as_py())
                yield unit.source, batch
