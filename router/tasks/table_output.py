"""An output that is an Iceberg table: Spark evaluates and writes, one commit a batch.

The commit carries the offsets that it holds, under the same condition as a lake writer's: what
is repeated after a crash is in the table once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.storagelevel import StorageLevel

from headrace.contract import INGESTION_TS, METADATA
from headrace.iceberg.catalog import table_loader
from headrace.iceberg.spark_files import write_uncommitted
from headrace.iceberg.tables import ensure_table
from headrace.jvm.tasks import run_tasks
from headrace.kafka.message import RecordPosition
from headrace.kafka.quarantine import stops_at
from headrace.landing.commit_state import Identity
from headrace.landing.commits import TableBatch, TableCommits
from headrace.schema.spark import from_spark
from router.ledger.entries import Counts
from router.tasks.spark_decoding import BAD, POSITION
from router.tasks.spark_output import VALUES, decoded_rows, evaluate
from router.tasks.spark_sending import OUT, keep_failed
from router.tasks.task import Done

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from headrace.config.stream.sinks import TableSink
    from headrace.config.workspace.workspace import Workspace
    from router.plan.model import RoutePlan
    from router.tasks.task import RoutingWork

FAILED: Final = "failed"
FILTERED: Final = "filtered"
WRITTEN: Final = "written"


class TableOutput:
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

    def __call__(self, spark: SparkSession, works: Sequence[RoutingWork]) -> list[Done]:
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
        through = [number for work in works for number in work.ends]
        return [Done({outlet.name: counts}, partitions=through)]

    def _land(self, rows: DataFrame, works: Sequence[RoutingWork]) -> None:
        passed = rows.filter(F.col("what") == WRITTEN).select(f"{OUT}.passed.{VALUES}.*", METADATA)
        if not self._is_open:
            own = [field for field in passed.schema.fields if field.name != METADATA]
            struct = {"type": "struct", "fields": [json.loads(field.json()) for field in own]}
            ensure_table(self._workspace, self._sink, from_spark(struct))
            self._is_open = True
        starts = {
            number: at
            for work in works
            for positions in work.starts.values()
            for number, at in positions.items()
        }
        ends = {number: end for work in works for number, end in work.ends.items()}
        state = self._commits.resume()
        held = {} if state is None else state.next_offsets
        # In the table already, and not in the ledger: a crash came between the two.
        for number, position in held.items():
            is_held = (F.col(f"{METADATA}.partition") == number) & (
                F.col(f"{METADATA}.offset") < position
            )
            passed = passed.filter(~is_held)
        if all(held.get(number, -1) >= end for number, end in ends.items()):
            return
        files = write_uncommitted(_sorted(passed), _quoted(self._sink.identifier), _OPTIONS)
        self._commits.commit(TableBatch(files, starts, ends))

    def _quarantine(self, spark: SparkSession, plan: RoutePlan, rows: DataFrame) -> None:
        """Let a task keep the records on which the output's expressions fail."""
        failed = rows.filter(F.col("what") == FAILED).select(
            f"{POSITION}.partition", f"{POSITION}.offset"
        )
        positions = [(row[0], row[1]) for row in failed.collect()]
        if positions:
            (problem,) = run_tasks(spark, keep_failed, [(plan, positions)])
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
    first = F.min(f"{POSITION}.offset").alias("first")
    grouped = rows.groupBy(F.col(f"{POSITION}.partition").alias("partition"), "what")
    counts: dict[int, Counts] = {}
    for row in grouped.agg(F.count(F.lit(1)).alias("rows"), first).collect():
        known = counts.get(row["partition"], Counts())
        counts[row["partition"]] = known + _counts_of(plan, row)
    return counts


def _counts_of(plan: RoutePlan, row: Row) -> Counts:
    what, number = row["what"], row["rows"]
    if what == WRITTEN:
        return Counts(number, written=number)
    if what == FILTERED:
        return Counts(number, filtered=number)
    action, kind, why = plan.hygiene.on_bad_record, "expression", "Spark cannot evaluate it"
    if what != FAILED:
        _, action, kind, why = what.split("|", 3)
    if action == "fail":
        position = RecordPosition(plan.source.topic, row["partition"], row["first"])
        raise stops_at(f"stream {plan.stream}", position, why)
    return (
        Counts(number, dropped={kind: number})
        if action == "drop"
        else Counts(number, quarantined=number)
    )


def _sorted(rows: DataFrame) -> DataFrame:
    return rows.sortWithinPartitions(INGESTION_TS, f"{METADATA}.partition", f"{METADATA}.offset")


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))
