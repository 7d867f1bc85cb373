"""Delivering a plan: step after step, measured on the records, resumed where it ended."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from backfill.read.batch_columns import span_of
from backfill.read.step_records import read_step
from backfill.run import tags
from backfill.run.certificate import certificate_of
from backfill.run.facts import Reach, ReplayFacts
from backfill.run.measurements import DisorderMeter, OrderMeter
from backfill.run.pace import Drained
from backfill.run.planning import plan_to_run, sources_of
from backfill.run.request import held_by, record_of, state_of
from headrace.errors import UsageError
from headrace.locks import hold
from headrace.records.arrow import times_of
from headrace.state_version import require_known

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from backfill.plan.plan import Plan
    from backfill.plan.steps import Step
    from backfill.read.source import LakeSource
    from backfill.run.certificate import Certificate
    from backfill.run.pace import Pace
    from backfill.run.request import ReplayRequest, RunOptions
    from backfill.run.state import RunState
    from headrace.config.workspace.workspace import Workspace
    from headrace.signals import Drain


class Target(Protocol):
    """Where replayed records go. A step given again may replace or repeat, never lose."""

    @property
    def location(self) -> str:
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
class StepProgress:
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

    def facts(self, run_id: str) -> ReplayFacts:
        """Return what others may see of it: where it begins, and what is to come."""
        done, rows = self._position.steps_done, sum(self._position.rows.values())
        return ReplayFacts(run_id, self._plan, Reach(done, rows))

    def run(self, target: Target, drain: Drain, pace: Pace) -> Iterator[StepProgress]:
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
            yield StepProgress(
                self._position.steps_done,
                len(self._plan.steps),
                sum(self._position.rows.values()),
                self._plan.rows,
                step.frontier_us,
                dict(self._newest),
            )

    def certificate(self) -> Certificate:
        """Return what was measured."""
        position = self._position
        return certificate_of(
            self._plan,
            steps=position.steps_done,
            rows=position.rows,
            max_disorder_us=position.max_disorder_us,
            out_of_order=position.out_of_order,
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
            oldest, newest = span_of(times_of(batch, self._plan.time_column))
            self._meter.see(oldest, newest)
            self._newest[source] = max(newest, self._newest.get(source, newest))
            if self._order is not None:
                self._order.see(source, batch)
            yield source, batch


@contextmanager
def delivery(
    workspace: Workspace, request: ReplayRequest | None, run: RunOptions, target: Target
) -> Iterator[Delivery]:
    """Hold a run, its plan and its snapshots; they are let go of when all is delivered.

    Without a request the run goes on by the plan that it was begun with.
    """
    # A start of Spark does it, too, but this needs no Spark.
    require_known(workspace.state_dir)
    state = state_of(workspace, run.run_id)
    with hold(state.lock, *held_by(run.run_id)):
        if request is None:
            plan = _resumed(state, target)
        else:
            state.refuse_existing()
            plan = plan_to_run(workspace, request)
            state.begin(plan, record_of(plan, target.location, run=run))
        sources = sources_of(workspace, plan)
        for source in sources.values():
            tags.hold(source, run.run_id)
        going = Delivery(plan, sources, state)
        yield going
        certificate = going.certificate()
        if certificate.complete:
            state.store_certificate(certificate.to_json())
            for source in sources.values():
                tags.release(source.table, run.run_id)


def _resumed(state: RunState, target: Target) -> Plan:
    state.require()
    record = state.record()
    if record is not None and record.to != target.location:
        raise UsageError(
            f"run {state.run_id} goes to {record.to}, not to {target.location}", f"--to {record.to}"
        )
    return state.plan()
