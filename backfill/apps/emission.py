"""What of an application's replay is emitted, and where it goes until it is published."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from backfill.app_used import AppUsed
from backfill.plan_report import duration
from backfill.request import record_of
from backfill.results.publish import staging_of
from backfill.results.reach import MICROSECOND, reach_of, too_short
from headrace.application.emitted import require_columns, within
from headrace.config.app_sinks import IcebergSink
from headrace.errors import Terminal, UsageError
from headrace.iceberg.spark_names import spark_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan import Plan
    from backfill.request import Request
    from backfill.state import RunRecord, RunState
    from headrace.config.app_sinks import AppSink
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace

log = structlog.get_logger(__name__)


def record_of_app(
    app: LoadedApp, workspace: Workspace, run_id: str, plan: Plan, request: Request
) -> RunRecord:
    """Sum up a run of an application that begins now."""
    sink = app.config.sink
    replaces = getattr(sink, "mode", None) == "replace"
    # A table that rows are deleted from cannot tell which of its rows are older than a replayed one.
    apart = request.stage or replaces or getattr(sink, "deleted", None) is not None
    staged = staging_of(sink, run_id).identifier if apart else None
    record = record_of(plan, sink.place, app=str(app.path.resolve()))
    return replace(
        record,
        emitted=request.emitted,
        staged=staged,
        publish=replaces and not request.stage,
        used=AppUsed.of(app, workspace.root),
        sink=sink.model_dump(mode="json") if isinstance(sink, IcebergSink) else None,
    )


def sink_of(app: LoadedApp, run_id: str, record: RunRecord | None) -> AppSink:
    """Return where the replay writes: the application's own sink, or the staging beside it."""
    sink = app.config.sink
    return sink if record is None or record.staged is None else staging_of(sink, run_id)


def emitted(result: DataFrame, app: LoadedApp, record: RunRecord | None, plan: Plan) -> DataFrame:
    """Keep what belongs to the period that was asked for; say where it may come out incomplete."""
    sink = app.config.sink
    require_columns(result, sink)
    if record is None or record.emitted is None or sink.time_column is None:
        return result
    period = record.emitted
    _warn(result, app, plan, record)
    return within(result, sink.time_column, period.start_us, period.end_us_exclusive)


def with_reach(result: DataFrame, app: LoadedApp, record: RunRecord) -> RunRecord:
    """Return the record with how long after its time a row may be emitted, by a live run too."""
    if record.emitted is None or not app.config.watermarks:
        return record
    return replace(record, reach_us=reach_of(result).longest_us)


def refuse_published(state: RunState, record: RunRecord) -> None:
    """Refuse to go on with a run that is through: what it staged may be in the table already."""
    if record.staged is not None and state.certificate.exists():
        raise UsageError(
            f"run {state.run_id} is through",
            f"backfill publish {state.run_id}, if that is still to be done",
        )


def require_staging(spark: SparkSession, record: RunRecord | None, steps_done: int) -> None:
    """Refuse to go on with a run whose first part is gone: the rest alone would be published."""
    if record is None or record.staged is None or steps_done == 0:
        return
    if not spark.catalog.tableExists(spark_name(record.staged)):
        raise Terminal(
            f"{record.staged} is gone, with what the run has staged so far",
            "backfill cancel it, and begin anew",
        )


def _warn(result: DataFrame, app: LoadedApp, plan: Plan, record: RunRecord) -> None:
    period = record.emitted
    if period is None:
        return
    reach = reach_of(result)
    delays = [one.delay for one in app.config.watermarks.values()]
    read = plan.period
    warmup = (period.start_us - read.start_us) * MICROSECOND
    cooldown = (read.end_us_exclusive - period.end_us_exclusive) * MICROSECOND
    longest = max(delays, default=timedelta(0))
    for option, enough_us in too_short(reach, longest, warmup, cooldown):
        log.warning(
            "rows near the period's end may be incomplete"
            if option == "--cooldown"
            else "rows near the period's start may be incomplete",
            would_do=f"{option} {duration(enough_us).replace(' ', '')}",
        )
    if reach.has_own_state and reach.longest_us == 0:
        log.info("this query keeps state of its own: how long a warm-up it needs, only you know")
