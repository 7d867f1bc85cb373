"""Running an application over the past: its sources aligned step by step, its sink its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import structlog

from backfill.apps.emission import (
    only_emitted,
    record_of_app,
    refuse_published,
    refuse_staged,
    require_staging,
    with_reach,
)
from backfill.apps.narrowing import columns_used, conditions_of, declared_of, query_of
from backfill.apps.publish import publish, staging_of
from backfill.apps.stages import (
    let_all_windows_end,
    move_to_live,
    own_watermarks,
    stages_in,
    widened_at_the_end_us,
    without_last_row,
)
from backfill.apps.streams import ReplayWatch, open_streams
from backfill.apps.used_columns import table_uses
from backfill.lookups.frames import LookupFrames
from backfill.run import tags
from backfill.run.certificate import US_PER_MS, certificate_of
from backfill.run.facts import Reach, ReplayFacts
from backfill.run.fingerprint import AppFingerprint, refuse_changed
from backfill.run.measurements import totals
from backfill.run.options import bounds_of, tables_of
from backfill.run.planning import plan_to_run, sources_of
from backfill.run.request import held_by, state_of
from backfill.run.watermarks import log_widening, require_known, watermarks_of
from headrace.application.held_state import held_state, refuse_elsewhere
from headrace.application.late_rows import LateRows
from headrace.application.sinks import start
from headrace.application.transform import Sources, result_of, with_watermarks
from headrace.errors import UsageError
from headrace.iceberg.catalog import load_table
from headrace.jvm.relay import RELAY
from headrace.queries.checkpoint import mirror
from headrace.queries.hadoop_path import HadoopPath
from headrace.queries.streaming import finish

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from backfill.apps.stages import Stage
    from backfill.plan.plan import Plan
    from backfill.run.certificate import Certificate
    from backfill.run.pace import Rate
    from backfill.run.request import ReplayRequest
    from backfill.run.state import RunState
    from headrace.application.held_state import HeldState
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
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
    run: AppRun,
    request: ReplayRequest | None,
    spark: SparkSession,
    drain: Drain,
    show: Callable[[ReplayFacts], object] | None = None,
) -> Certificate:
    """Run an application over a period; its certificate says what was read, and what was late.

    Without a request the run goes on by the plan that it was begun with.
    """
    state = state_of(run.workspace, run.run_id)
    with held_state(run.workspace, spark, state.folder, held_by(run.run_id)) as held:
        plan = _plan(run, request, state, spark)
        for source in sources_of(run.workspace, plan).values():
            tags.hold(source, run.run_id)
        tags.hold_lookups(run.workspace, plan.lookups, run.run_id)
        # Of pinned snapshots a batch is read again as it was.
        late = LateRows(state.folder / "late.jsonl", lambda _, __: True)
        watch = ReplayWatch(plan)
        if show is not None:
            done, _ = state.committed()
            rows = sum(step.rows for step in plan.steps[:done])
            show(facts := ReplayFacts(run.run_id, plan, Reach(done, rows)))
            watch = ReplayWatch(plan, told=facts.reached)
        log_widening(plan)
        for table in (source.name for source in plan.sources):
            run.workspace.require_reached(
                f"the location of {table}", load_table(run.workspace, table).location()
            )
        for lookup in plan.lookups:
            refuse_elsewhere(held.checkpoint, f"{lookup.name} of {run.app.config.name}")
        replay = AppReplay(run, plan, state, spark, held)
        replay.mirror()
        stages = stages_in(plan, spark)
        for stage in stages:
            done, _ = state.committed()
            if done < stage.first:
                break
            if done >= stage.until and stage is not stages[-1]:
                continue
            query = replay.start(stage, late)
            finish(query, run.app.config.name, drain, until_no_data=True, watch=watch)
            replay.mirror()
        certificate = replay.certificate(late)
        if certificate.complete:
            state.store_certificate(certificate.to_json())
            # All is read. A publication may be refused, and is done again later.
            tags.release_all(run.workspace, state, run.run_id)
            record = state.require_record()
            if record.publish and not certificate.differences():
                publish(spark, run.workspace, run.run_id, record)
        return certificate


def _plan(run: AppRun, request: ReplayRequest | None, state: RunState, spark: SparkSession) -> Plan:
    if request is None:
        record = state.require_record()
        if record.app != str(run.app.path.resolve()):
            raise UsageError(
                f"run {run.run_id} does not belong to application {run.app.config.name}",
                "continue it with the file, or the tables, that it was started with",
            )
        refuse_published(state, record)
        refuse_changed(run.run_id, record.used, AppFingerprint.of(run.app, run.workspace.root))
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
    record = record_of_app(run.app, run.workspace, run.run_id, plan, request)
    refuse_staged(spark, record)
    state.begin(plan, record)
    return plan


@dataclass(slots=True)
class AppReplay:
    """A planned run: starts its query stage by stage, and knows which tables that does not read."""

    run: AppRun
    plan: Plan
    state: RunState
    spark: SparkSession
    held: HeldState
    unread: Collection[str] = ()

    def start(self, stage: Stage, late: LateRows) -> StreamingQuery:
        """Start the query of a stage."""
        app, state, plan = self.run.app, self.state, self.plan
        sources = self._sources(stage)
        result = result_of(app, Sources(self.spark, sources), self.run.workspace.root)
        record = state.require_record()
        # Its modules are known only now.
        refuse_changed(
            self.run.run_id, record.used, AppFingerprint.of(app, self.run.workspace.root)
        )
        done, _ = state.committed()
        require_staging(self.spark, record, done)
        self._read_no_more(result, stage.finished)
        own = own_watermarks(result, sources.values(), app)
        if stage.is_end and done < stage.until and (plan.closes or not own):
            self._move_the_watermark()
        state.store_record(with_reach(result, app, record))
        sink = app.config.sink
        return start(
            only_emitted(result, app, record, plan),
            sink if record.staged is None else staging_of(sink, self.run.run_id),
            self.run.workspace,
            self.run.run_id,
            self.held.checkpoint,
            late,
            self._before_batch,
        )

    def mirror(self) -> None:
        """Let those who have no Spark see how far the run is."""
        if isinstance(self.held.checkpoint, HadoopPath):
            mirror(self.held.checkpoint, self.state.checkpoint)

    def _before_batch(self) -> None:
        self.held.still_ours()
        self.mirror()

    def _sources(self, stage: Stage) -> dict[str, DataFrame]:
        """Return what the transform is given: sources with their watermarks, and lookups."""
        app, state, plan = self.run.app, self.state, self.plan
        streams = open_streams(
            self.spark,
            self.run.workspace,
            plan,
            state.plan_file,
            {
                "rate_limit": None if self.run.rate is None else str(self.run.rate),
                "until": str(stage.until),
                RELAY: None if self.held.relay is None else self.held.relay.to_json(),
            },
            columns=declared_of(app),
            ahead=bounds_of(app),
            finished={
                table: [one.column for one in plan.watermarks if one.table == table]
                for table in stage.finished
            },
        )
        frames = {name: streams[table] for name, table in tables_of(app).items()}
        sources = with_watermarks(app, frames, plan.widening())
        for one in plan.watermarks:
            if one.table in stage.finished:
                sources[one.source] = without_last_row(sources[one.source], one)
        lookups = LookupFrames(self.spark, app, self.run.workspace)
        return sources | lookups.of_a_replay(state.checkpoint, state.plan_file, plan.lookups)

    def _move_the_watermark(self) -> None:
        """Let the last stage begin with a watermark that no record to come asks to be held back."""
        if self.plan.closes:
            let_all_windows_end(self.held.checkpoint)
        else:
            widened_ms = widened_at_the_end_us(self.plan) // US_PER_MS
            move_to_live(self.held.checkpoint, widened_ms)

    def _read_no_more(self, result: DataFrame, finished: Collection[str]) -> None:
        """Tell the tasks which columns are used; refuse a result that asks for rows left out.

        Of tables that have finished nothing is left.
        """
        uses = table_uses(result)
        for source in self.plan.sources:
            if source.name in finished:
                continue
            used = uses.get(source.name)
            asked = () if used is None else used.conditions
            if lost := [one for one in source.conditions if one not in asked]:
                raise UsageError(
                    f"run {self.run.run_id} was started with only the rows of {source.name} with "
                    f"{' AND '.join(map(str, lost))}, but the application no longer has this "
                    "condition",
                    "restore its transform, or start another run",
                )
            if used is not None and (used.columns is not None or source.conditions):
                log.info(
                    "a table is read in part",
                    table=source.name,
                    columns="all" if used.columns is None else ", ".join(sorted(used.columns)),
                    rows=" AND ".join(map(str, source.conditions)) or "all",
                )
        self.state.store_reads(columns_used(uses))
        self.unread = sorted(one.name for one in self.plan.sources if one.name not in uses)
        for table in self.unread:
            log.warning("the transform does not read this table", table=table)

    def certificate(self, late: LateRows) -> Certificate:
        """Put together what was measured in all the time that the run took."""
        plan = self.plan
        steps, batches = self.state.committed()
        measured = totals(self.state.folder, steps)
        open_windows: Literal["left", "closed"] = "closed" if plan.closes else "left"
        found = certificate_of(
            plan,
            steps=steps,
            rows=measured.rows,
            max_disorder_us=measured.max_disorder_us,
            out_of_order=measured.out_of_order,
            left_out=measured.left_out,
            unread=self.unread,
        )
        return replace(
            found,
            dropped_late=late.total.records,
            dropped_late_is_exact=late.total.is_exact,
            batches_unmeasured=sum(1 for batch in batches if not late.counted(batch)),
            ahead=measured.ahead,
            open_windows=open_windows if self.run.app.config.watermarks else None,
            app=self.state.require_record().used,
        )
