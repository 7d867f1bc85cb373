"""Running an application over the past: its sources aligned step by step, its sink its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import structlog

from backfill import tags
from backfill.app_progress import Replaying
from backfill.app_used import AppUsed, refuse_changed
from backfill.asked import bounds_of, tables_of
from backfill.certificate import Certificate, LookupUsed
from backfill.closing import let_all_windows_end, move_to_live
from backfill.emission import (
    emitted,
    record_of_app,
    refuse_published,
    require_staging,
    sink_of,
    with_reach,
)
from backfill.lookups.frames import lookups_of_a_replay
from backfill.lookups.held import hold_lookups
from backfill.measured import totals
from backfill.narrowing import columns_used, conditions_of, declared_of, query_of
from backfill.query_log import committed
from backfill.replay import MS, counted
from backfill.request import (
    held_by,
    plan_to_run,
    sources_of,
    state_of,
)
from backfill.results.publish import publish
from backfill.stages import widened_at_the_end_us
from backfill.streams import Replay
from backfill.used import used_of
from backfill.watermark_frames import own_watermarks, stages_in, without_last_row
from backfill.watermarks import require_known, tell, watermarks_of
from headrace.application.late_rows import LateRows
from headrace.application.sinks import start
from headrace.application.transform import Sources, result_of, with_watermarks
from headrace.errors import UsageError
from headrace.locks import hold
from headrace.streaming import finish

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from backfill.pace import Rate
    from backfill.plan import Plan
    from backfill.request import Request
    from backfill.stages import Stage
    from backfill.state import RunState
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AppRun:
    """An application and where it is to run."""

    app: LoadedApp
    workspace: Workspace
    run_id: str
    rate: Rate | Literal["auto"] | None = None


def replay_app(
    run: AppRun, request: Request | None, spark: SparkSession, drain: Drain
) -> Certificate:
    """Run an application over a period; its certificate says what was read, and what was late.

    Without a request the run goes on by the plan that it was begun with.
    """
    state = state_of(run.workspace, run.run_id)
    with hold(state.lock, *held_by(run.run_id)):
        plan = _plan(run, request, state, spark)
        sources = sources_of(run.workspace, plan)
        for source in sources.values():
            tags.hold(source, run.run_id)
        hold_lookups(run.workspace, plan.lookups, run.run_id)
        # Of pinned snapshots a batch is read again as it was.
        late = LateRows(state.folder / "late.jsonl", lambda _, __: True)
        watch = Replaying(plan)
        tell(plan)
        stages, unread = stages_in(plan, spark), set[str]()
        for stage in stages:
            done = committed(state.checkpoint).steps
            if done < stage.first:
                break
            if done >= stage.until and stage is not stages[-1]:
                continue
            query, unread = _started(run, plan, spark, state, stage, late)
            finish(query, run.app.config.name, drain, until_no_data=True, watch=watch)
        certificate = certificate_of(run, plan, state, late, unread)
        if certificate.complete:
            state.keep_certificate(certificate.to_json())
            # All is read. A publication may be refused, and is done again later.
            tags.release_all(run.workspace, state, run.run_id)
            record = state.record()
            if record is not None and record.publish and not certificate.differences():
                publish(spark, run.workspace, run.run_id, record)
        return certificate


def _plan(run: AppRun, request: Request | None, state: RunState, spark: SparkSession) -> Plan:
    name = str(run.app.path.resolve())
    if request is None:
        state.require()
        record = state.record()
        if record is None or record.app != name:
            raise UsageError(
                f"run {run.run_id} is none of {run.app.config.name}",
                "go on with it by the file, or the tables, that it was begun with",
            )
        refuse_published(state, record)
        refuse_changed(run.run_id, record.used, AppUsed.of(run.app, run.workspace.root))
        return state.plan()
    state.refuse_existing()
    query = query_of(run.app, run.workspace, spark, request.time_column)
    for one in query.differences:
        if one.kind == "own_source":
            log.warning("this is not replayed", stream=one.where, why=one.what_to_do)
    marks = watermarks_of(run.app, tables_of(run.app))
    plan = plan_to_run(run.workspace, request, conditions_of(query.uses), marks)
    require_known(plan)
    if request.close_windows or widened_at_the_end_us(plan):
        plan = plan.ending(closes=request.close_windows)
    state.begin(plan, record_of_app(run.app, run.workspace, run.run_id, plan, request))
    return plan


def _move_the_watermark(plan: Plan, state: RunState) -> None:
    """Let the last stage begin with a watermark that no record to come asks to be held back."""
    if plan.closes:
        let_all_windows_end(state.checkpoint)
    else:
        move_to_live(state.checkpoint, widened_at_the_end_us(plan) // MS)


def _started(  # noqa: PLR0913, PLR0917 - a query is started with these
    run: AppRun, plan: Plan, spark: SparkSession, state: RunState, stage: Stage, late: LateRows
) -> tuple[StreamingQuery, set[str]]:
    app, tables = run.app, tables_of(run.app)
    streams = Replay.by(run.workspace, plan).opened(
        spark,
        run.run_id,
        columns=declared_of(app),
        rate=run.rate,
        ahead=bounds_of(app),
        until=stage.until,
        finished={
            table: [one.column for one in plan.watermarks if one.table == table]
            for table in stage.finished
        },
    )
    frames = {name: streams[table] for name, table in tables.items()}
    marked = with_watermarks(app, frames, plan.widening())
    for one in plan.watermarks:
        if one.table in stage.finished:
            marked[one.source] = without_last_row(marked[one.source], one)
    checkpoint, record = state.checkpoint, state.record()
    marked |= lookups_of_a_replay(
        spark, app, run.workspace, checkpoint, state.plan_file, plan.lookups
    )
    result = result_of(app, Sources(spark, marked), run.workspace.root)
    if record is not None:
        # Its modules are known only now.
        refuse_changed(run.run_id, record.used, AppUsed.of(app, run.workspace.root))
    require_staging(spark, record, committed(checkpoint).steps)
    unread = _read_no_more(result, plan, state, stage.finished)
    own = own_watermarks(result, marked.values(), app)
    if stage.is_end and committed(checkpoint).steps < stage.until and not (own and not plan.closes):
        _move_the_watermark(plan, state)
    if record is not None:
        state.keep_record(with_reach(result, app, record))
    kept, sink = emitted(result, app, record, plan), sink_of(app, run.run_id, record)
    query = start(kept, sink, run.workspace, run.run_id, checkpoint, once=False, late=late)
    return query, unread


def _read_no_more(
    result: DataFrame, plan: Plan, state: RunState, finished: Collection[str]
) -> set[str]:
    """Tell the tasks which columns are used; refuse a result that asks for rows that are left out.

    Of tables that have finished nothing is left.

    Returns the tables that are not used at all.
    """
    uses = used_of(result)
    for source in plan.sources:
        if source.name in finished:
            continue
        used = uses.get(source.name)
        asked = () if used is None else used.conditions
        if lost := [one for one in source.conditions if one not in asked]:
            raise UsageError(
                f"run {state.run_id} was begun for rows of {source.name} with"
                f" {' AND '.join(map(str, lost))}, which the application does not ask for any more",
                "put its transform back as it was, or begin another run",
            )
        if used is not None and (used.columns is not None or source.conditions):
            log.info(
                "a table is read in part",
                table=source.name,
                columns="all" if used.columns is None else ", ".join(sorted(used.columns)),
                rows=" AND ".join(map(str, source.conditions)) or "all",
            )
    state.keep_reads(columns_used(uses))
    unread = {source.name for source in plan.sources if source.name not in uses}
    for table in sorted(unread):
        log.warning("the transform does not read this table", table=table)
    return unread


def certificate_of(
    run: AppRun, plan: Plan, state: RunState, late: LateRows, unread: Collection[str]
) -> Certificate:
    """Put together what was measured in all the time that the run took."""
    record = state.record()
    steps, batches = committed(state.checkpoint)
    measured = totals(state.folder, steps)
    return Certificate(
        period=str(plan.period),
        order=plan.order,
        steps=steps,
        threshold_ms=plan.threshold_us / MS if plan.order == "bounded" else None,
        max_disorder_ms=measured.max_disorder_us / MS,
        dropped_late=late.total.records,
        dropped_late_is_exact=late.total.is_exact,
        complete=steps == len(plan.steps),
        sources=counted(plan, measured.rows, measured.left_out, unread),
        offset_order_held=None if plan.order != "strict" else not measured.out_of_order,
        batches_unmeasured=sum(1 for batch in batches if not late.counted(batch)),
        time_column=plan.time_column,
        ahead=measured.ahead,
        lookups=LookupUsed.of(plan.lookups),
        open_windows=_open_windows(run.app, plan),
        regions=plan.regions,
        app=None if record is None else record.used,
    )


def _open_windows(app: LoadedApp, plan: Plan) -> Literal["left", "closed"] | None:
    if not app.config.watermarks:
        return None
    return "closed" if plan.closes else "left"
