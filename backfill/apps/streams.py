"""The tables of a plan as Spark streams, aligned step by step, and how far they are in it."""

from __future__ import annotations

import json
import time
from itertools import accumulate
from typing import TYPE_CHECKING

from backfill.apps.spark_source import NAME, ReplaySource
from backfill.apps.spark_task import schema_of, warm_readers
from backfill.run.facts import Reach
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from backfill.plan.plan import Plan
    from headrace.application.ahead_of_time import Ahead
    from headrace.config.workspace.workspace import Workspace


def open_streams(  # noqa: PLR0913 - what a query may need to know of its tables
    spark: SparkSession,
    workspace: Workspace,
    plan: Plan,
    plan_file: Path,
    options: Mapping[str, str | None],
    *,
    columns: Mapping[str, Sequence[str]] | None = None,
    ahead: Mapping[str, Ahead] | None = None,
    finished: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, DataFrame]:
    """Return a stream for each table; `options` are those of `ReplaySource` that all have.

    `columns` says for a table which of its columns to read, `ahead` how far one of them may be
    ahead of the record's arrival. A table that has `finished` has no rows any more; those columns
    of it are at the end of all time, in a row of each batch that is to be filtered out.
    """
    spark.dataSource.register(ReplaySource)
    common = {
        "workspace": str(workspace.root),
        "plan": str(plan_file),
        # On a cluster the cores of all executors, not those of the driver's machine.
        "readers": str(spark.sparkContext.defaultParallelism),
        **{name: value for name, value in options.items() if value is not None},
    }
    chosen = {}
    for name in (source.name for source in plan.sources):
        own = {"table": name, "columns": ",".join((columns or {}).get(name, ()))}
        if ahead and name in ahead:
            own["ahead"] = ahead[name].to_json()
        if finished and name in finished:
            own["finished"] = ",".join(finished[name])
        chosen[name] = common | own
    warm_readers(spark, list(chosen.values()))
    return {
        name: spark.readStream.format(NAME).schema(schema_of(own)).options(**own).load()
        for name, own in chosen.items()
    }


class ReplayWatch:
    """Knows of a batch which steps are done, what speed that makes, and how long the rest takes."""

    def __init__(
        self,
        plan: Plan,
        clock: Callable[[], float] = time.monotonic,
        told: Callable[[Reach], object] | None = None,
    ) -> None:
        self._told = told
        self._steps = plan.steps
        self._rows_before = (0, *accumulate(step.rows for step in plan.steps))
        self._clock = clock
        self._begun_s = clock()
        self._first_rows: int | None = None

    def facts(self, progress: StreamingQueryProgress) -> Mapping[str, object]:
        """Return the step, the frontier, how far each table is, rows a second and the time left."""
        # PySpark's own attributes have an offset in Python's words, and not as it was written.
        sources = json.loads(progress.json)["sources"]
        done = min(_step(one["endOffset"]) for one in sources)
        if self._first_rows is None:
            # What was done before this start does not count for its speed.
            self._first_rows = self._rows_before[min(_step(one["startOffset"]) for one in sources)]
        if self._told is not None:
            self._told(Reach(done, self._rows_before[done], self._newest_us(done)))
        rows, passed_s = self._rows_before[done], self._clock() - self._begun_s
        speed = (rows - self._first_rows) / passed_s if passed_s > 0 else 0.0
        left = {"eta_s": round((self._rows_before[-1] - rows) / speed)} if speed else {}
        return {
            "step": f"{done} of {len(self._steps)}",
            "rows_per_s": round(speed),
            **left,
            **self._times_reached(done),
        }

    def look(self) -> None:
        """Say nothing between batches: the plan is known, and waits for nothing."""

    def _newest_us(self, done: int) -> dict[str, int]:
        newest: dict[str, int] = {}
        for unit in self._steps[done - 1].units if done else ():
            newest[unit.source] = max(newest.get(unit.source, unit.max_ts_us), unit.max_ts_us)
        return newest

    def _times_reached(self, done: int) -> Mapping[str, object]:
        if not done:
            return {}
        newest, frontier = self._newest_us(done), {}
        if done < len(self._steps):
            frontier = {"frontier": format_time_us(self._steps[done].frontier_us)}
        return {**frontier, "newest": {name: format_time_us(us) for name, us in newest.items()}}


def _step(offset: Mapping[str, int] | None) -> int:
    # Before the first batch there is none.
    return 0 if offset is None else offset["step"]
