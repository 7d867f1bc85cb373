"""`headrace run`: runs an application on its live sources."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import app_option, command_options, show
from headrace.cli.http_option import http_option
from headrace.cli.metrics_option import metrics_options

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.address import Address
    from headrace.metrics.at_end import MetricsAtEnd


@click.command(name="run")
@app_option
@click.option(
    "--select",
    "selections",
    multiple=True,
    metavar="SOURCE=CANDIDATE",
    help="Read this candidate instead of the one that the file selects.",
)
@click.option("--once", is_flag=True, help="Process the records that are there now, then end.")
@http_option()
@metrics_options
@command_options
def run_app(
    path: Path,
    selections: tuple[str, ...],
    *,
    once: bool,
    http: Address | None,
    metrics: MetricsAtEnd,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Run an application on the sources that its file selects, until Ctrl-C.

    The same file runs over the past with `backfill replay -c APP.yaml`: there each dynamic source
    reads its candidate of type iceberg. A source of type hybrid reads its table first and then
    goes on live. docs/applications.md describes the file. With --http, Prometheus and probes can
    ask how it fares; with --metrics-file or --metrics-push, the metrics go there at the end.
    """
    from headrace.application.select import parse_choices
    from headrace.config.load import load_app
    from headrace.http.board import Board
    from headrace.http.server import serving
    from headrace.lineage.declared import app_job
    from headrace.lineage.reporting import reported
    from headrace.metrics.at_end import metrics_at_end
    from headrace.signals import Drain
    from headrace.spark import session
    from stream_app.live import live_sources, run_live

    app = load_app(path, workspace)
    choices, job = parse_choices(selections), f"app-{app.config.name}"
    live = live_sources(app, choices)
    with (
        Drain() as drain,
        serving(http, board := Board(job, drain)),
        metrics_at_end(metrics, "app", app.config.name, board.samples),
        reported(workspace, board, partial(app_job, app, choices, is_lasting=not once)),
        session(workspace, job, lasting=not once) as spark,
    ):
        ran = run_live(
            app, workspace, spark, live, drain, once=once, show=board.show, choices=choices
        )
    name, sink, late = app.config.name, app.config.sink.location, ran.dropped_late
    facts = {
        "application": name,
        "rows_read": ran.rows,
        "sink": sink,
        "dropped_late": late.records,
        "dropped_late_is_exact": late.is_exact,
        "turned_away": dict(ran.rejected),
    }
    lines = [f"application {name} → {sink}", f"  rows read {ran.rows:,}"]
    lines += [f"  dropped as late {late.to_text()}"] if late.records else []
    rejected = sorted(ran.rejected.items())
    lines += [f"  {fate} {count:,} (since its first start)" for fate, count in rejected]
    show(facts, "\n".join(lines), as_json=as_json)
