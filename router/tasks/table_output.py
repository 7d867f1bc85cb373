"""The lane of an output that is an Iceberg table: Spark evaluates and writes, one commit a batch.

The commit carries the offsets that it holds, under the same condition as a lake writer's: what
is done again after a crash is in the table once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.storagelevel import StorageLevel

from headrace.contract import INGESTION_TS, METADATA
from headrace.iceberg.spark_files import write_uncommitted
from headrace.iceberg.tables import ensure_table, table_loader
from headrace.landing.commits import Batch, TableCommits
from headrace.landing.marks import Identity
from headrace.schema.spark import from_spark
from headrace.spark_tasks import run_tasks
from router.ledger import Counts
from router.sending import stops_at
from router.spark_lane import VALUES, decoded_rows, evaluate
from router.spark_tasks import BAD, OUT, PLACE, keep_failed
from router.task import Done

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from headrace.config.sinks import TableSink
    from headrace.config.workspace import Workspace
    from router.plan import RoutePlan
    from router.task import Work

FAILED: Final = "failed"
FILTERED: Final = "filtered"
WRITTEN: Final = "written"


class TableLane:
    """Routes ranges of offsets into one table."""

    def __init__(self, workspace: Workspace, sink: TableSink, writer: str, topic: str) -> None:
        self._workspace = workspace
        self._sink = sink
        self._commits = TableCommits(
            table_loader(workspace, sink.identifier),
            sink.identifier,
            Identity.of_this_process(writer, topic),
        )
        self._is_open = False

    def __call__(self, spark: SparkSession, works: Sequence[Work]) -> list[Done]:
        """Route a batch; its rows are in the table when this returns."""
        plan = works[0].plan
        (outlet,) = plan.outlets
        rows = decoded_rows(spark, works).withColumn(OUT, evaluate(outlet))
        rows = rows.withColumn("what", _what_became()).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counts = _counts(plan, rows)
            self._quarantine(spark, plan, rows)
            self._land(rows, works)
        finally:
            rows.unpersist()
        return [Done({outlet.name: counts})]

    def _land(self, rows: DataFrame, works: Sequence[Work]) -> None:
        passed = rows.filter(F.col("what") == WRITTEN).select(f"{OUT}.passed.{VALUES}.*", METADATA)
        if not self._is_open:
            own = [field for field in passed.schema.fields if field.name != METADATA]
            struct = {"type": "struct", "fields": [json.loads(field.json()) for field in own]}
            ensure_table(self._workspace, self._sink, from_spark(struct))
            self._is_open = True
        starts = {
            number: at
            for work in works
            for places in work.starts.values()
            for number, at in places.items()
        }
        ends = {number: end for work in works for number, end in work.ends.items()}
        mark = self._commits.resume()
        held = {} if mark is None else mark.next_offsets
        # In the table already, and not in the ledger: a crash came between the two.
        for number, place in held.items():
            is_held = (F.col(f"{METADATA}.partition") == number) & (
                F.col(f"{METADATA}.offset") < place
            )
            passed = passed.filter(~is_held)
        if all(held.get(number, -1) >= end for number, end in ends.items()):
            return
        files = write_uncommitted(_sorted(passed), _quoted(self._sink.identifier), _OPTIONS)
        self._commits.commit(Batch(files, starts, ends))

    def _quarantine(self, spark: SparkSession, plan: RoutePlan, rows: DataFrame) -> None:
        """Let a task keep the records on which the output's expressions fail."""
        failed = rows.filter(F.col("what") == FAILED).select(
            f"{PLACE}.partition", f"{PLACE}.offset"
        )
        places = [(row[0], row[1]) for row in failed.collect()]
        if places:
            (problem,) = run_tasks(spark, keep_failed, [(plan, places)])
            if problem is not None:
                raise problem


_OPTIONS: Final = {"fanout-enabled": "true", "use-table-distribution-and-ordering": "false"}


def _what_became() -> Column:
    bad = F.concat_ws("|", f"{BAD}.action", f"{BAD}.kind", f"{BAD}.why")
    return (
        F.when(F.col(BAD).isNotNull(), F.concat(F.lit("bad|"), bad))
        .when(F.col(OUT).isNull(), FAILED)
        .when(F.col(f"{OUT}.passed").isNull(), FILTERED)
        .otherwise(WRITTEN)
    )


def _counts(plan: RoutePlan, rows: DataFrame) -> dict[int, Counts]:
    """Count what became of the records of each partition; stop where the stream wants to."""
    first = F.min(f"{PLACE}.offset").alias("first")
    grouped = rows.groupBy(F.col(f"{PLACE}.partition").alias("partition"), "what")
    counts: dict[int, Counts] = {}
    for row in grouped.agg(F.count(F.lit(1)).alias("rows"), first).collect():
        known = counts.get(row["partition"], Counts())
        counts[row["partition"]] = known + _told(plan, row)
    return counts


def _told(plan: RoutePlan, row: Row) -> Counts:
    what, number = row["what"], row["rows"]
    if what == WRITTEN:
        return Counts(number, written=number)
    if what == FILTERED:
        return Counts(number, filtered=number)
    action, kind, why = plan.hygiene.on_bad_record, "expression", "Spark cannot evaluate it"
    if what != FAILED:
        _, action, kind, why = what.split("|", 3)
    if action == "fail":
        place = f"{plan.source.topic}-{row['partition']} @ {row['first']}"
        raise stops_at(plan.stream, place, why)
    return (
        Counts(number, dropped={kind: number})
        if action == "drop"
        else Counts(number, quarantined=number)
    )


def _sorted(rows: DataFrame) -> DataFrame:
    return rows.sortWithinPartitions(INGESTION_TS, f"{METADATA}.partition", f"{METADATA}.offset")


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))
