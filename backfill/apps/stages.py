"""The stages of an application's replay: where its query ends and goes on, with less to wait for.

The least of all watermarks counts. A source without rows, or one whose rows have ended long before
the others', would hold it where it is: no window would be emitted any more, and all state be kept.
So where a source has finished the query is started again, and the source's watermark holds nobody.

At the end all records are delivered, and no watermark needs to be wider than live any more: the
last stage has no rows, and the watermark that a live run has by then.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import structlog
from pyspark.sql import functions

from backfill.apps.live_differences import differences_in
from backfill.apps.spark_task import END_MS
from headrace.errors import Terminal
from headrace.queries.checkpoint import VERSION, committed_batches, keep, kept

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan.plan import Plan
    from backfill.plan.widening import PlannedWatermark
    from headrace.config.load import LoadedApp
    from headrace.queries.checkpoint import Place


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps that one query goes through, up to before `until`; which tables have finished before."""

    first: int
    until: int
    finished: frozenset[str] = frozenset()
    is_end: bool = False


def stages_of(plan: Plan) -> list[Stage]:
    """Return the stages of a plan, at least one."""
    ends, count = finished_from(plan), plan.steps_with_records
    starts = sorted({0, *(step for step in ends.values() if step < count)})
    found = [
        Stage(first, until, frozenset(table for table, step in ends.items() if step <= first))
        for first, until in zip(starts, [*starts[1:], count], strict=True)
    ]
    if plan.has_end:
        found.append(Stage(count, len(plan.steps), is_end=True))
    return found


def finished_from(plan: Plan) -> dict[str, int]:
    """Return for each table with a watermark from which step on it holds nobody.

    That is where the others are further than the threshold beyond its last record. Those that are
    the last are never let go of.
    """
    marked = {one.table for one in plan.watermarks}
    last: dict[str, int] = dict.fromkeys(marked, -1)
    newest: dict[str, int] = {}
    for number, step in enumerate(plan.steps):
        for unit in step.units:
            if unit.source in marked:
                last[unit.source] = number
                newest[unit.source] = max(unit.max_ts_us, newest.get(unit.source, unit.max_ts_us))
    found = {
        table: next(
            (
                step.number
                for step in plan.steps[number + 1 :]
                if table not in newest or step.frontier_us > newest[table] + plan.threshold_us
            ),
            len(plan.steps),
        )
        for table, number in last.items()
    }
    until = max(last.values(), default=-1)
    return {table: step for table, step in found.items() if step <= until}


def widened_at_the_end_us(plan: Plan) -> int:
    """Return by how much all watermarks that still count at the end are wider than live, at least."""
    gone = finished_from(plan)
    left = [one.widened_by_us or 0 for one in plan.watermarks if one.table not in gone]
    return min(left, default=0)


log = structlog.get_logger(__name__)
POLICY: Final = "spark.sql.streaming.multipleWatermarkPolicy"


def stages_in(plan: Plan, spark: SparkSession) -> list[Stage]:
    """Return the stages of a plan. Where the greatest watermark counts, nobody holds anybody."""
    found = stages_of(plan)
    if str(spark.conf.get(POLICY, "min")).lower() == "min":
        return found
    whole = replace(found[0], until=plan.steps_with_records, finished=frozenset())
    return [whole, *(stage for stage in found if stage.is_end)]


def without_last_row(frame: DataFrame, watermark: PlannedWatermark) -> DataFrame:
    """Return a source that has finished without the row that its watermark has seen.

    What is observed has to be seen whole: so Spark brings no filter below it, be it this one or one
    of the application's, and the row comes as far as the watermark.
    """
    seen = frame.observe(f"finished_{watermark.source}", functions.count("*").alias("rows"))
    end = functions.timestamp_millis(functions.lit(END_MS))
    return seen.where(functions.col(f"`{watermark.column}`") < end)


def own_watermarks(result: DataFrame, sources: Iterable[DataFrame], app: LoadedApp) -> bool:
    """Whether a transform sets a watermark itself. That is as narrow as live, and said here."""
    own = [one for one in differences_in(result, sources) if one.kind == "own_watermark"]
    for one in own:
        log.warning(
            "the transform sets its own watermark, which a replay cannot make wider: records that "
            "were in time may be dropped; set it in the application's file instead",
            app=app.config.name,
            where=one.where,
        )
    return bool(own)


WATERMARK: Final = "nextBatchWatermarkMs"
MOVED: Final = "moved-to-live.json"


def let_all_windows_end(checkpoint: Place) -> None:
    """Let the next batch of a query that has ended begin with the last watermark of all.

    Done again it changes nothing.
    """
    _Commit.last(checkpoint).put(END_MS)


def move_to_live(checkpoint: Place, widened_by_ms: int) -> None:
    """Let the next batch begin with the watermark of a live run, which is not widened.

    Where the log stood is kept beside it: done again it changes nothing.
    """
    commit, file = _Commit.last(checkpoint), checkpoint.with_name(MOVED)
    if file.exists():
        moved = kept(file, _Moved, "cancel the run and start another one")
    else:
        moved = _Moved(commit.batch, commit.watermark_ms)
        keep(file, msgspec.json.encode(moved))
    # Nothing was seen where it has never moved.
    if moved.batch == commit.batch and moved.watermark_ms:
        commit.put(moved.watermark_ms + widened_by_ms)


class _Moved(NamedTuple):
    batch: int
    watermark_ms: int


@dataclass(frozen=True, slots=True)
class _Commit:
    """The last line of Spark's log of commits."""

    file: Place
    batch: int
    said: dict[str, Any]

    @classmethod
    def last(cls, checkpoint: Place) -> _Commit:
        batch = committed_batches(checkpoint)[-1]
        file = checkpoint / "commits" / str(batch)
        try:
            version, text = file.read_text(encoding="utf-8").split("\n", 1)
            said = json.loads(text)
        except ValueError:
            version, said = "", None
        if version != VERSION or not isinstance(said, dict) or WATERMARK not in said:
            raise Terminal(
                f"Spark's commit log has no watermark: {file}",
                "cancel the run and start another one; add --open-windows leave if this happens "
                "again",
            )
        return cls(file, batch, said)

    @property
    def watermark_ms(self) -> int:
        return int(self.said[WATERMARK])

    def put(self, watermark_ms: int) -> None:
        # The checksum is of what stood there; without one, none is asked for.
        self.file.with_name(f".{self.batch}.crc").unlink(missing_ok=True)
        said = json.dumps({**self.said, WATERMARK: watermark_ms})
        keep(self.file, f"{VERSION}\n{said}".encode())
