"""A replay from a program: as streams of Spark, or step by step as Arrow, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from backfill.plan.period import parse_period
from backfill.plan.plan import read_plan
from backfill.read.step_records import read_step
from backfill.run import tags
from backfill.run.planning import plan_to_run, sources_of
from backfill.run.request import ReplayRequest, new_run_id, state_of
from headrace.config.common.units import parse_duration
from headrace.config.load import load_workspace
from headrace.contract import INGESTION_TS
from headrace.iceberg.catalog import load_table
from headrace.state_version import require_known
from headrace.times import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Literal

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan.plan import Order, Plan
    from backfill.plan.preconditions import NullTimes, UpTo
    from backfill.plan.steps import Step
    from backfill.read.source import LakeSource
    from backfill.run.pace import Rate
    from headrace.application.ahead_of_time import Ahead
    from headrace.config.workspace.workspace import Workspace

A_WALK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One step of a walk: what it holds, and its records."""

    step: Step
    sources: dict[str, LakeSource]

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the records, each batch with the name of its table."""
        yield from read_step(self.step, self.sources)


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
        time_column: str = INGESTION_TS,
        null_times: NullTimes = "fail",
        up_to: UpTo = "complete",
        workspace: Path | None = None,
    ) -> None:
        request = ReplayRequest(
            tuple(tables),
            parse_period(start_ts, end_ts),
            tuple(regions),
            order,
            parse_duration(max_misalignment) // MICROSECOND,
            time_column=time_column,
            null_times=dict.fromkeys(tables, null_times),
            up_to=up_to,
        )
        self.workspace: Workspace = load_workspace(workspace)
        self.plan: Plan = plan_to_run(self.workspace, request)

    @classmethod
    def by(cls, workspace: Workspace, plan: Plan) -> Self:
        """Go by a plan that is there already."""
        replay = cls.__new__(cls)
        replay.workspace = workspace
        replay.plan = plan
        return replay

    def steps(self, columns: Sequence[str] = ()) -> Iterator[ReplayStep]:
        """Walk the plan from its beginning, without Spark.

        Beside the columns come always `__metadata__` and the one that the replay goes by. The
        snapshots are held by a tag until the walk ends; of one that is killed, for a week.
        """
        sources = sources_of(self.workspace, self.plan, columns)
        name = new_run_id("walk")
        for source in sources.values():
            tags.hold(source, name, at_most=A_WALK)
        try:
            for step in self.plan.steps:
                yield ReplayStep(step, sources)
        finally:
            for source in sources.values():
                tags.release(source.table, name)

    def read_no_more_than(self, result: DataFrame, run_id: str) -> None:
        """Read no more columns than a result over this run's streams uses, as Spark plans it.

        To be called before the query is started; an application's replay does it by itself.
        """
        from backfill.apps.narrowing import columns_used  # noqa: PLC0415 - a walk needs no Spark
        from backfill.apps.used_columns import table_uses  # noqa: PLC0415 - as above

        state_of(self.workspace, run_id).store_reads(columns_used(table_uses(result)))

    def release(self, run_id: str) -> None:
        """Let go of the snapshots of a run that does not go on: expiry may take their files."""
        for source in self.plan.sources:
            tags.release(load_table(self.workspace, source.name), run_id)

    def streams(
        self,
        spark: SparkSession,
        run_id: str,
        *,
        columns: Mapping[str, Sequence[str]] | None = None,
        rate: Rate | Literal["auto"] | None = None,
        ahead: Mapping[str, Ahead] | None = None,
    ) -> dict[str, DataFrame]:
        """Return a streaming DataFrame for each table, aligned step by step.

        The plan is kept under the run's name. A later call with that name goes by the plan that
        is kept, so that a query restarted from its checkpoint reads on exactly where it was. The
        snapshots are held by a tag, which the query lets go of when it is through with a table;
        `release` does it for a run that is given up. `columns` says for a table which of its
        columns to read, `rate` how fast all of them together may go, `ahead` how far one of them
        may be ahead of the record's arrival.
        """
        from backfill.apps.streams import open_streams  # noqa: PLC0415 - a walk needs no Spark

        # The session may be the program's own, whose start has not done it.
        require_known(self.workspace.state_dir)
        plan_file = state_of(self.workspace, run_id).store_plan(self.plan)
        self.plan = read_plan(plan_file)
        for source in sources_of(self.workspace, self.plan).values():
            tags.hold(source, run_id)
        options = {"rate_limit": None if rate is None else str(rate), "lets_go": "true"}
        return open_streams(
            spark, self.workspace, self.plan, plan_file, options, columns=columns, ahead=ahead
        )
