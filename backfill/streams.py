"""A replay from a program: as streams of Spark, or step by step as Arrow, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from backfill.period import parse_period
from backfill.request import Request, plan_of
from backfill.source import LakeSource
from backfill.state import RunState
from headrace.config.load import load_workspace
from headrace.config.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan import Order, Plan
    from backfill.planner import Step
    from headrace.config.workspace import Workspace

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One step of a walk: what it holds, and its records."""

    step: Step
    sources: dict[str, LakeSource]

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the records, each batch with the name of its table."""
        for unit in self.step.units:
            for batch in self.sources[unit.source].rows(unit):
                yield unit.source, batch


class Replay:
    """A planned replay of one or more tables, at the snapshots that they have now.

    replay = Replay(["lake.playback.starts"], "2026-03-01", "2026-03-02")
    for step in replay.steps():
        for table, batch in step.batches():
            ...
    """

    def __init__(  # noqa: PLR0913 - what the command line takes, under the same names
        self,
        tables: Sequence[str],
        start_ts: str,
        end_ts: str,
        *,
        max_misalignment: str = "15min",
        order: Order = "bounded",
        regions: Sequence[str] = (),
        workspace: Path | None = None,
    ) -> None:
        request = Request(
            tuple(tables),
            parse_period(start_ts, end_ts),
            tuple(regions),
            order,
            parse_duration(max_misalignment) // MICROSECOND,
        )
        self.workspace: Workspace = load_workspace(workspace)
        self.plan: Plan = plan_of(self.workspace, request)

    @classmethod
    def of(cls, workspace: Workspace, request: Request) -> Self:
        """Plan what was asked for on a command line."""
        replay = cls.__new__(cls)
        replay.workspace = workspace
        replay.plan = plan_of(workspace, request)
        return replay

    def steps(self) -> Iterator[ReplayStep]:
        """Walk the plan from its beginning, without Spark."""
        sources = self.sources()
        for step in self.plan.steps:
            yield ReplayStep(step, sources)

    def sources(self) -> dict[str, LakeSource]:
        """Return the tables at the snapshots that the plan has pinned."""
        plan = self.plan
        return {
            planned.name: LakeSource(
                self.workspace, planned.name, plan.period, plan.regions, planned.snapshot_id
            )
            for planned in plan.sources
        }

    def streams(self, spark: SparkSession, run_id: str) -> dict[str, DataFrame]:
        """Return a streaming DataFrame for each table, aligned step by step.

        The plan is kept under the run's name. A later call with that name goes by the plan that
        is kept, so that a query restarted from its checkpoint reads on exactly where it was.
        """
        from backfill.spark_source import NAME, ReplaySource  # noqa: PLC0415 - a walk needs no Spark

        state = RunState(self.workspace.state_dir / "backfill" / run_id)
        plan_file = state.keep(self.plan)
        spark.dataSource.register(ReplaySource)
        reader = spark.readStream.format(NAME)
        options = {"workspace": str(self.workspace.root), "plan": str(plan_file)}
        return {
            source.name: reader.options(**options, table=source.name).load()
            for source in self.plan.sources
        }
