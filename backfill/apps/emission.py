"""What of an application's replay is emitted, and where it goes until it is published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from backfill.apps.live_differences import WITH_STATE
from backfill.apps.publish import staging_of
from backfill.plan.period import duration
from backfill.run.fingerprint import AppFingerprint
from backfill.run.request import record_of
from headrace.application.emitted import require_columns, within
from headrace.config.app.sinks import IcebergSink
from headrace.errors import Terminal, UsageError
from headrace.iceberg.catalog import spark_name
from headrace.jvm.plans import analyzed, expressions, kind_of, with_subqueries
from headrace.times import DAY_US, MICROSECOND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan.period import Period
    from backfill.plan.plan import Plan
    from backfill.run.request import ReplayRequest
    from backfill.run.state import RunRecord, RunState
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from headrace.jvm.plans import Java


log = structlog.get_logger(__name__)


def record_of_app(
    app: LoadedApp, workspace: Workspace, run_id: str, plan: Plan, request: ReplayRequest
) -> RunRecord:
    """Sum up a run of an application that begins now."""
    sink = app.config.sink
    replaces = getattr(sink, "mode", None) == "replace"
    # A table that rows are deleted from cannot tell which of its rows are older than a replayed one.
    apart = request.stage or replaces or getattr(sink, "deleted", None) is not None
    staged = staging_of(sink, run_id).identifier if apart else None
    record = record_of(plan, sink.location, app=str(app.path.resolve()))
    return replace(
        record,
        emitted=request.emitted,
        staged=staged,
        publish=replaces and not request.stage,
        used=AppFingerprint.of(app, workspace.root),
        choices=dict(request.choices),
        sink=sink.model_dump(mode="json") if isinstance(sink, IcebergSink) else None,
    )


def only_emitted(result: DataFrame, app: LoadedApp, record: RunRecord, plan: Plan) -> DataFrame:
    """Keep what belongs to the period that was asked for; say where it may come out incomplete."""
    sink = app.config.sink
    require_columns(result, sink)
    period = record.emitted
    if period is None or sink.time_column is None:
        return result
    _warn(result, app, plan, period)
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
            f"run {state.run_id} has finished",
            f"backfill publish {state.run_id}, if it is not published yet",
        )


def refuse_staged(spark: SparkSession, record: RunRecord) -> None:
    """Refuse to begin a run beside what another has staged: both would be published."""
    if record.staged is not None and spark.catalog.tableExists(spark_name(record.staged)):
        raise UsageError(
            f"table {record.staged} already exists, and this run would add its result to it",
            "choose another --run-id; or drop the table if nobody needs it",
        )


def require_staging(spark: SparkSession, record: RunRecord, steps_done: int) -> None:
    """Refuse to go on with a run whose first part is gone: the rest alone would be published."""
    if record.staged is None or steps_done == 0:
        return
    if not spark.catalog.tableExists(spark_name(record.staged)):
        raise Terminal(
            f"{record.staged} is gone, and with it the rows that the run has staged so far",
            "cancel the run and start another one",
        )


def _warn(result: DataFrame, app: LoadedApp, plan: Plan, period: Period) -> None:
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
        log.info(
            "this query has its own state, so headrace cannot compute the warm-up; choose it "
            "yourself"
        )


# What a month of an interval is at the most.
MONTH_US: Final = 31 * DAY_US


@dataclass(frozen=True, slots=True)
class Reach:
    """The longest time that a query's plan names, and whether it keeps state of its own."""

    longest_us: int
    has_own_state: bool


def reach_of(result: DataFrame) -> Reach:
    """Return how far a query looks."""
    nodes = list(with_subqueries(analyzed(result)))
    lengths = (_length_us(one) for node in nodes for one in expressions(node))
    return Reach(
        max(lengths, default=0), any(kind_of(node).startswith(WITH_STATE) for node in nodes)
    )


def too_short(
    reach: Reach, delay: timedelta, warmup: timedelta, cooldown: timedelta
) -> list[tuple[str, int]]:
    """Return which of warm-up and cool-down are too short, each with what would do."""
    if reach.longest_us == 0:
        return []
    needed_us = reach.longest_us + delay // MICROSECOND
    wanted = (("--warmup", warmup), ("--cooldown", cooldown))
    return [(name, needed_us) for name, given in wanted if given // MICROSECOND < needed_us]


def _length_us(expression: Java) -> int:
    """Return the time that an expression is about, 0 for most."""
    match kind_of(expression):
        case "PreciseTimestampConversion" if kind_of(expression.child()) == "Add":
            # A window's end: its start and so much.
            length = expression.child().right()
            return int(length.value()) if kind_of(length) == "Literal" else 0
        case "Literal" | "Cast" if "interval" in expression.dataType().typeName():
            return _interval_us(expression) if expression.foldable() else 0
        case _:
            return 0


def _interval_us(expression: Java) -> int:
    value = expression.eval(None)
    if value is None:
        return 0
    if isinstance(value, int):
        is_months = "month" in expression.dataType().typeName()
        return abs(value) * (MONTH_US if is_months else 1)
    days, months = value.extractAsPeriod().getDays(), value.extractAsPeriod().toTotalMonths()
    below_us = value.extractAsDuration().toMillis() * 1000
    return int(abs(months) * MONTH_US + abs(days) * DAY_US + abs(below_us))
