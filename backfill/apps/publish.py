"""Publishing what a replay has staged: into the application's table in one commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import structlog

from backfill.request import state_of
from headrace.application.table_sink import Upsert, again_on_conflict, append_whole
from headrace.checkpoint import watermark_us
from headrace.config.app_sinks import IcebergSink
from headrace.errors import Terminal, Transient, UsageError
from headrace.iceberg.replace import Replacement, replace_period
from headrace.iceberg.spark_names import spark_name
from headrace.times import format_time_us

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from backfill.period import Period
    from backfill.state import RunRecord
    from headrace.config.app_sinks import AppSink
    from headrace.config.workspace import Workspace

log = structlog.get_logger(__name__)


def staging_of(sink: AppSink, run_id: str) -> IcebergSink:
    """Return the table beside the application's own that holds a run's result until published."""
    if not isinstance(sink, IcebergSink):
        raise UsageError(
            f"--stage is for a sink of type iceberg, and this one is {sink.type}",
            "leave it out, or write to another topic or folder",
        )
    name = f"{sink.table}__{re.sub(r'[^A-Za-z0-9_]', '_', run_id)}"
    mode = "upsert" if sink.mode == "upsert" else "append"
    return sink.model_copy(update={"table": name, "mode": mode})


def publish(spark: SparkSession, workspace: Workspace, run_id: str, record: RunRecord) -> int:
    """Bring a staged result into the table and remove the staging; returns its rows.

    Table and mode are those that the run was begun with. Killed at any point, it can be done again: the rows are in the table once.
    """
    if record.staged is None or record.sink is None:
        raise UsageError(f"run {run_id} has staged nothing", f"it wrote to {record.to}")
    sink = IcebergSink.model_validate(record.sink)
    if sink.deleted is not None:
        raise Terminal(
            f"{record.staged} is not merged into {sink.identifier}: of a key that has been deleted"
            " there nothing says that it was later",
            "compare them; then stop the live job, replay up to where that was, and rename the tables",
        )
    if not spark.catalog.tableExists(spark_name(record.staged)):
        raise Terminal(
            f"{record.staged} is gone: run {run_id} was published, or cancelled",
            "backfill status shows the runs; a new one needs another --run-id",
        )
    # The session may know the table as it was when it was made, and empty.
    spark.catalog.refreshTable(spark_name(record.staged))
    rows = spark.table(spark_name(record.staged))
    require_emitted(workspace, rows, run_id, record)
    count = rows.count()
    log.info("publishing", run=run_id, table=sink.identifier, mode=sink.mode, rows=count)
    match sink.mode:
        case "append":
            append_whole(rows, workspace, sink.identifier, run_id)
        case "upsert":
            Upsert(sink)(rows, 0)
        case "replace":
            wanted = _replacement(sink, run_id, record.emitted)
            again_on_conflict(lambda: replace_period(rows, wanted), sink.identifier)
    drop(spark, record.staged)
    return count


def require_emitted(workspace: Workspace, rows: DataFrame, run_id: str, record: RunRecord) -> None:
    """Refuse to publish rows that the live run, as it is now, has still to emit itself.

    It has emitted what the replay has where its watermark is as far as the replay's, or has passed
    the newest row. A row with a key takes the place of itself. Where no live run of the application
    is known here, nothing can be told.
    """
    sink = IcebergSink.model_validate(record.sink)
    if sink.mode == "upsert" or record.reach_us is None or record.used is None:
        return
    live_us = watermark_us(workspace.state_dir / "app" / record.used.name / "checkpoint")
    replay_us = watermark_us(state_of(workspace, run_id).checkpoint)
    if live_us is None or replay_us is None or live_us >= replay_us:
        return
    newest_us = _newest_us(rows, sink)
    if newest_us is None or live_us >= newest_us + record.reach_us:
        return
    needed = format_time_us(min(replay_us, newest_us + record.reach_us))
    raise Transient(
        f"the live run of {record.used.name} has still to emit rows that were staged: its watermark"
        f" is at {format_time_us(live_us)}, and they are all emitted at {needed}; published now, they"
        " would be there twice",
        f"backfill publish {run_id} once it has passed that; or replay a period that ends earlier;"
        " or, if that run does not go on, remove its state",
    )


def _newest_us(rows: DataFrame, sink: IcebergSink) -> int | None:
    """Return the newest time of a row; None where there is none, or no column of times."""
    if sink.time_column is None:
        return None
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - importing it takes a second

    time = F.col(sink.time_column).cast("timestamp")
    found = rows.agg(F.max(F.unix_micros(time)).alias("newest")).collect()[0]["newest"]
    return None if found is None else int(found)


def drop(spark: SparkSession, staged: str) -> None:
    """Remove a staging table, its files included."""
    spark.sql(f"DROP TABLE IF EXISTS {spark_name(staged)} PURGE")


def _replacement(sink: IcebergSink, run_id: str, emitted: Period | None) -> Replacement:
    if emitted is None or sink.time_column is None:
        raise UsageError(
            f"run {run_id} is not of a period of {sink.identifier}",
            "it was begun before sink.time_column was set: run it anew",
        )
    return Replacement(
        sink.identifier, sink.time_column, emitted.start_us, emitted.end_us_exclusive, run_id
    )
