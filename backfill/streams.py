"""A replay from a program: as streams of Spark, or step by step as Arrow, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from backfill import tags
from backfill.period import parse_period
from backfill.plan import read_plan
from backfill.reading import read_step
from backfill.request import Request, new_run_id, plan_to_run, sources_of, state_of
from headrace.config.load import load_workspace
from headrace.config.units import parse_duration
from headrace.contract import INGESTION_TS
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Literal

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from backfill.pace import Rate
    from backfill.plan import Order, Plan
    from backfill.planner import Step
    from backfill.preconditions import NullTimes, UpTo
    from backfill.source import LakeSource
    from headrace.config.workspace import Workspace
    from headrace.records.ahead import Ahead

MICROSECOND = timedelta(microseconds=1)
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
        request = Request(
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
        name = new_run_id().replace("replay", "walk")
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
        from backfill.narrowing import columns_used  # noqa: PLC0415 - a walk needs no Spark
        from backfill.used import used_of  # noqa: PLC0415 - as above

        state_of(self.workspace, run_id).keep_reads(columns_used(used_of(result)))

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
        self.plan = read_plan(state_of(self.workspace, run_id).keep(self.plan))
        for source in sources_of(self.workspace, self.plan).values():
            tags.hold(source, run_id)
        return self.opened(spark, run_id, columns=columns, rate=rate, ahead=ahead, lets_go=True)

    def opened(  # noqa: PLR0913 - what a query may need to know of its tables
        self,
        spark: SparkSession,
        run_id: str,
        *,
        columns: Mapping[str, Sequence[str]] | None = None,
        rate: Rate | Literal["auto"] | None = None,
        ahead: Mapping[str, Ahead] | None = None,
        until: int | None = None,
        finished: Mapping[str, Sequence[str]] | None = None,
        lets_go: bool = False,
    ) -> dict[str, DataFrame]:
        """Return the same for a run whose snapshots are held by whoever began it.

        `until` says before which step to end, `lets_go` that the query removes the tags. A table
        that has `finished` has no rows any more; those columns of it are at the end of all time, in
        a row of each batch that is to be filtered out.
        """
        # A walk needs no Spark.
        from backfill.spark_source import NAME, ReplaySource  # noqa: PLC0415
        from backfill.spark_task import schema_of, warm_readers  # noqa: PLC0415

        plan_file = state_of(self.workspace, run_id).keep(self.plan)
        spark.dataSource.register(ReplaySource)
        reader = spark.readStream.format(NAME)
        options = {
            "workspace": str(self.workspace.root),
            "plan": str(plan_file),
            # On a cluster the cores of all executors, not those of the driver's machine.
            "readers": str(spark.sparkContext.defaultParallelism),
        }
        if rate is not None:
            options["rate_limit"] = str(rate)
        if until is not None:
            options["until"] = str(until)
        if lets_go:
            options["lets_go"] = "true"
        named, bounds, gone = columns or {}, ahead or {}, finished or {}
        chosen = {
            source.name: {
                **options,
                "table": source.name,
                "columns": ",".join(named.get(source.name, ())),
            }
            for source in self.plan.sources
        }
        warm_readers(spark, [dict(one) for one in chosen.values()])
        streams = {}
        for name, own in chosen.items():
            if name in bounds:
                own["ahead"] = bounds[name].to_json()
            if name in gone:
                own["finished"] = ",".join(gone[name])
            streams[name] = reader.schema(schema_of(own)).options(**own).load()
        return streams
