"""`headrace run`: runs an application on its live sources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import app_option, log_option, output_option, workspace_option

if TYPE_CHECKING:
    from pathlib import Path


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
@workspace_option
@output_option
@log_option
def run_app(
    path: Path,
    selections: tuple[str, ...],
    *,
    once: bool,
    workspace_dir: Path | None,
    as_json: bool,
) -> None:
    """Run an application on the sources that its file selects, until Ctrl-C.

    The same file runs over the past with `backfill replay -c APP.yaml`: there each dynamic source
    reads its candidate of type iceberg. A source of type hybrid reads its table first and then
    goes on live. docs/applications.md describes the file.
    """
    from headrace.config.load import load_app, load_workspace
    from headrace.signals import Drain
    from headrace.spark import session
    from stream_app.live import live_sources, run_live

    workspace = load_workspace(workspace_dir)
    app = load_app(path, workspace)
    live = live_sources(app, _choices(selections))
    with Drain() as drain, session(workspace, f"app-{app.config.name}", lasting=not once) as spark:
        ran = run_live(app, workspace, spark, live, drain, once=once)
    if as_json:
        facts = {
            "application": app.config.name,
            "rows_read": ran.rows,
            "sink": app.config.sink.location,
            "dropped_late": ran.dropped_late.records,
            "dropped_late_is_exact": ran.dropped_late.is_exact,
            "turned_away": dict(ran.rejected),
        }
        click.echo(json.dumps(facts))
        return
    click.echo(
        f"application {app.config.name} → {app.config.sink.location}\n  rows read {ran.rows:,}"
    )
    if ran.dropped_late.records:
        click.echo(f"  dropped as late {ran.dropped_late.to_text()}")
    for fate, count in sorted(ran.rejected.items()):
        click.echo(f"  {fate} {count:,} (since its first start)")


def _choices(selections: tuple[str, ...]) -> dict[str, str]:
    from headrace.errors import UsageError

    choices = {}
    for selection in selections:
        name, separator, candidate = selection.partition("=")
        if not separator:
            raise UsageError(f"--select {selection} is not valid", "write it as SOURCE=CANDIDATE")
        choices[name] = candidate
    return choices
