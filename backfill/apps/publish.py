"""Publishing what a replay has staged: into the application's table in one commit."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from backfill.run import tags
from backfill.run.request import held_by, state_of
from headrace.application.table_sink import Upsert, again_on_conflict, append_whole, writer_of
from headrace.config.app.sinks import IcebergSink
from headrace.errors import Terminal, Transient, UsageError
from headrace.iceberg.catalog import load_table, spark_name
from headrace.iceberg.replace import Replacement, replace_period
from headrace.locks import hold
from headrace.queries.checkpoint import watermark_us
from headrace.state_version import refuse_newer
from headrace.times import format_time_us

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan.period import Period
    from backfill.run.state import RunRecord
    from headrace.config.app.sinks import AppSink
    from headrace.config.workspace.workspace import Workspace


log = structlog.get_logger(__name__)


def staging_of(sink: AppSink, run_id: str) -> IcebergSink:
    """Return the table beside the application's own that holds a run's result until published."""
    if not isinstance(sink, IcebergSink):
        raise UsageError(
            f"--stage is for a sink of type iceberg, but this sink has type {sink.type}",
            "remove --stage, or write to another topic or folder",
        )
    name = f"{sink.table}__{re.sub(r'[^A-Za-z0-9_]', '_', run_id)}"
    mode = "upsert" if sink.mode == "upsert" else "append"
    return sink.model_copy(update={"table": name, "mode": mode})


def publish(spark: SparkSession, workspace: Workspace, run_id: str, record: RunRecord) -> int:
    """Bring a staged result into the table and remove the staging; returns its rows.

    Table and mode are those that the run was begun with. Killed at any point, it can be done again:
    the rows are in the table once.
    """
    if record.staged is not None and record.published is not None:
        # It may have been killed before the staging was removed.
        drop(spark, record.staged)
        return record.published
    if record.staged is None or record.sink is None:
        raise UsageError(f"run {run_id} has staged nothing", f"it wrote to {record.to}")
    sink = IcebergSink.model_validate(record.sink)
    if sink.deleted is not None:
        raise Terminal(
            f"{record.staged} cannot be merged into {sink.identifier}: the table does not store "
            "when a key was deleted",
            "compare the tables; then stop the live job, replay up to where it was, and rename "
            "the tables",
        )
    if not spark.catalog.tableExists(spark_name(record.staged)):
        raise Terminal(
            f"{record.staged} is gone: run {run_id} was published or cancelled",
            "backfill status lists the runs; a new run needs another --run-id",
        )
    # The session may know the table as it was when it was made, and empty.
    spark.catalog.refreshTable(spark_name(record.staged))
    rows = spark.table(spark_name(record.staged))
    require_emitted(workspace, rows, run_id, record)
    count = rows.count()
    log.info("publishing", run=run_id, table=sink.identifier, mode=sink.mode, rows=count)
    match sink.mode:
        case "append":
            # A run that was cancelled and begun again has other rows under the same name.
            staged = load_table(workspace, record.staged).metadata.table_uuid
            name = writer_of(run_id, str(staged))
            append_whole(rows, workspace, sink.identifier, name)
        case "upsert":
            Upsert(sink)(rows, 0)
        case "replace":
            wanted = _replacement(sink, run_id, record.emitted)
            again_on_conflict(lambda: replace_period(rows, wanted), sink.identifier)
    state_of(workspace, run_id).store_record(replace(record, published=count))
    drop(spark, record.staged)
    return count


def require_emitted(workspace: Workspace, rows: DataFrame, run_id: str, record: RunRecord) -> None:
    """Refuse to publish rows that the live run, as it is now, has still to emit itself.

    It has emitted what the replay has where its watermark is as far as the replay's, or has passed
    the newest row. A row with a key replaces itself. If no live run of the application is known
    here, nothing is refused.
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
        f"the live run of {record.used.name} will still emit some of the staged rows: its "
        f"watermark is at {format_time_us(live_us)}, and all of them are emitted at {needed}; if "
        "you publish now, these rows are in the table twice",
        f"backfill publish {run_id} when the watermark has passed that time; or replay a period "
        "that ends earlier; or remove the state of the live run, if it will not continue",
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
            f"run {run_id} does not replace a period of {sink.identifier}",
            "it was started before sink.time_column was set: run it again",
        )
    return Replacement(
        sink.identifier, sink.time_column, emitted.start_us, emitted.end_us_exclusive, run_id
    )


def publish_run(workspace: Workspace, run_id: str) -> tuple[str, int]:
    """Publish what a run has staged; returns the table and the rows."""
    refuse_newer(workspace.state_dir)
    state = state_of(workspace, run_id)
    record = state.require_record()
    if record.app is None or record.staged is None:
        raise UsageError(f"run {run_id} has staged nothing", "backfill replay -c APP.yaml --stage")
    if not state.certificate.exists():
        raise UsageError(
            f"run {run_id} has not finished", f"backfill replay --resume --run-id {run_id}"
        )
    from headrace.spark import session  # noqa: PLC0415 - Spark is loaded when needed

    with (
        hold(state.lock, *held_by(run_id)),
        session(workspace, "backfill-publish") as spark,
    ):
        # A replay that was killed at its end has left them.
        tags.release_all(workspace, state, run_id)
        rows = publish(spark, workspace, run_id, record)
    return record.to.partition(":")[2], rows
