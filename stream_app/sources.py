"""An application's sources in a program or a notebook of your own, without the runner.

from headrace.config.load import load_workspace
from headrace.spark import start_session
from stream_app.sources import open_source

spark = start_session(load_workspace(), "notebook")
live = open_source(spark, "apps/rmi.yaml", "impressions")
past = open_source(spark, "apps/rmi.yaml", "impressions", select="backfill-impressions",
period=("2026-03-01", "2026-03-02"), run_id="try-1")

Sources that are opened over the past with the same `run_id` are aligned, as in a replay.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from backfill.plan.period import parse_period
from backfill.run.planning import plan_to_run
from backfill.run.request import ReplayRequest, new_run_id, state_of
from backfill.run.watermarks import require_known, watermarks_of
from backfill.streams import Replay
from headrace.application.live import LiveStart, live_stream
from headrace.application.select import (
    names_for_the_transform,
    selected,
    smallest_threshold,
    tables_behind,
)
from headrace.application.transform import bound_ahead, with_watermarks
from headrace.config.app.file import IcebergSource
from headrace.config.load import load_app, load_workspace, nearest_workspace
from headrace.errors import UsageError
from headrace.problems import did_you_mean
from headrace.times import MICROSECOND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan.period import Period
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace


def open_source(  # noqa: PLR0913 - which source, and how much of it
    spark: SparkSession,
    config: str | Path,
    source: str | None = None,
    *,
    select: str | None = None,
    period: tuple[str, str] | None = None,
    run_id: str | None = None,
    once: bool = False,
) -> DataFrame:
    """Return one source of an application as a streaming DataFrame, its watermark set.

    `config` is the application's file; what it computes and where that goes is not looked at.
    `source` may be left out where the file has but one. `select` reads another candidate than the
    file selects. A table is read over a `period` (start, and end exclusive): the query that is
    started again from its checkpoint names the same `run_id`, and so do all its sources, which then
    come aligned, step by step. The tables' snapshots are held by a tag until the query is through
    with them. Topics are read on and on, or with `once` to where they end now.
    """
    path = Path(config).absolute()
    workspace = load_workspace(nearest_workspace(path.parent))
    app = load_app(path, workspace)
    name = _named(app, source)
    concrete = selected(app.config, {name: select} if select else {})[name]
    if not isinstance(concrete, IcebergSource):
        (own,) = (key for key, one in app.config.sources.items() if one is concrete)
        ahead = bound_ahead(app, name)
        frame = live_stream(LiveStart(spark, workspace, app, once), own, ahead)
        return with_watermarks(app, {name: frame}, {})[name]
    if period is None:
        raise UsageError(
            f"{name} is the table {concrete.identifier}, and a table is read over a period",
            'period=("2026-03-01", "2026-03-02")',
        )
    run = run_id or _only_of(app, name)
    replay = _planned(app, workspace, name, concrete, parse_period(*period), run)
    table, bound = concrete.identifier, bound_ahead(app, name)
    frame = replay.streams(
        spark,
        run,
        columns={table: concrete.columns},
        ahead={} if bound is None else {table: bound},
    )[table]
    return with_watermarks(app, {name: frame}, replay.plan.widening())[name]


def _only_of(app: LoadedApp, name: str) -> str:
    """Name a run of a source that is the only one with a past."""
    others = [one for one in tables_behind(app.config) if one != name]
    if others:
        raise UsageError(
            f"{app.config.name} also reads {', '.join(others)}, besides {name}",
            "name the run that they are opened for, so that they are read in one order: "
            'run_id="try-1"',
        )
    return new_run_id()


def _planned(  # noqa: PLR0913, PLR0917 - a run of a program's own is made of these
    app: LoadedApp,
    workspace: Workspace,
    name: str,
    table: IcebergSource,
    period: Period,
    run_id: str,
) -> Replay:
    """Return the run's one plan over the tables of all sources, made when the first is opened."""
    state = state_of(workspace, run_id)
    if not state.exists:
        sources = {**tables_behind(app.config), name: table}
        threshold = smallest_threshold(sources.values())
        names = {key: one.identifier for key, one in sources.items()}
        tables = tuple(dict.fromkeys(names.values()))
        request = ReplayRequest(
            tables,
            period,
            (),
            "bounded",
            threshold // MICROSECOND,
            null_times={one.identifier: one.null_times for one in sources.values()},
        )
        plan = plan_to_run(workspace, request, watermarks=watermarks_of(app, names))
        require_known(plan)
        return Replay.by(workspace, plan)
    plan = state.plan()
    if plan.period != period or table.identifier not in {one.name for one in plan.sources}:
        begun = ", ".join(one.name for one in plan.sources)
        raise UsageError(
            f"run {run_id} was started over {plan.period} of {begun}",
            "open all sources of a query over one period; use another run_id for another query",
        )
    return Replay.by(workspace, plan)


def _named(app: LoadedApp, source: str | None) -> str:
    names = names_for_the_transform(app.config)
    if source is None and len(names) == 1:
        return names[0]
    if source not in names:
        problem = "which of its sources?" if source is None else f"it has no source {source}"
        raise UsageError(f"{app.config.name}: {problem}", did_you_mean(source or "", names))
    return source
