"""`backfill`: reads the lake again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import rich_click as click

from headrace.cli.command import FAILED, log_option, output_option, run, workspace_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from backfill.asked import Asked
    from backfill.certificate import Certificate
    from backfill.request import Request, Run
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

F = TypeVar("F", bound="Callable[..., Any]")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def backfill() -> None:
    """Replay a period of the past from the lake."""


def table_options(function: F) -> F:
    """Add what a plan and a replay of tables have in common."""
    for option in (
        click.option(
            "--order",
            type=click.Choice(["bounded", "any"]),
            default="bounded",
            show_default=True,
            help="bounded: nothing comes more than the threshold out of order;"
            " any: file by file, as a plain batch job would.",
        ),
        click.option(
            "--max-misalignment",
            "threshold",
            metavar="DURATION",
            help="How far a record may lie behind one that came in an earlier step, over all tables."
            " [default: the application's smallest threshold; for tables 15min]",
        ),
        click.option("--regions", default="", metavar="A,B", help="Only records of these regions."),
        click.option(
            "--end-ts", "end", required=True, metavar="TIME", help="Up to here, not included."
        ),
        click.option(
            "--start-ts",
            "start",
            required=True,
            metavar="TIME",
            help="From this ingestion time on.",
        ),
        click.option(
            "--table",
            "tables",
            multiple=True,
            metavar="CATALOG.DB.TABLE",
            help="A table to replay by itself; several are put into one order.",
        ),
        click.option(
            "-c",
            "--config",
            "app_path",
            type=click.Path(path_type=Path, dir_okay=False),
            help="An application (kind: app) to run over the past.",
        ),
    ):
        function = option(function)
    return function


@backfill.command()
@table_options
@output_option
@workspace_option
@log_option
def plan(*, as_json: bool, workspace_dir: Path | None, **asked: Unpack[Asked]) -> None:
    """Show what a replay would do: files, cuts, rows, bytes, steps, and a picture of them.

    By metadata: manifests, and the Parquet footers of files that span more time than the
    threshold. Of a row group that does so itself, the column of times is read.
    """
    from backfill import plan_report
    from backfill.asked import understood
    from backfill.request import plan_of
    from headrace.config.load import load_workspace
    from headrace.log import configure_logging

    configure_logging()
    workspace = load_workspace(workspace_dir)
    _, request = understood(asked, workspace)
    made = plan_of(workspace, request)
    click.echo(plan_report.as_json(made) if as_json else plan_report.as_text(made))


@backfill.command()
@table_options
@click.option("--to", "target", metavar="jsonl:DIR", help="With --table: where the records go.")
@click.option("--run-id", metavar="ID", help="The run's name. [default: made from the clock]")
@click.option("--resume", is_flag=True, help="Go on with the run of that --run-id.")
@output_option
@workspace_option
@log_option
def replay(
    *,
    target: str | None,
    run_id: str | None,
    resume: bool,
    as_json: bool,
    workspace_dir: Path | None,
    **asked: Unpack[Asked],
) -> int:
    """Replay a period: the records of tables, or an application over them.

    If a record b came in an earlier step than a record a, then b is at most the threshold
    newer than a: for every two records of any of the tables, whatever the layout of the files.
    The period is half-open and goes by `__metadata__.kafka_ingestion_ts`; times are ISO-8601,
    in UTC where they name no zone. A certificate says what was read and how far out of order
    it was, as measured on the records.

        backfill replay --table lake.playback.starts --to jsonl:replayed
                 --start-ts 2026-03-01T00:00:00Z --end-ts 2026-03-02T00:00:00Z
        backfill replay -c apps/starts_by_country.yaml
                 --start-ts 2026-03-01T00:00:00Z --end-ts 2026-03-02T00:00:00Z

    With --table, DIR gets one file per step; Ctrl-C ends it after the step at hand, and --resume
    with its run id goes on from there, also after a crash. With -c each dynamic source reads its
    candidate of type iceberg, watermarks are widened by the threshold, the result goes to the
    application's own sink, and windows that are still open at the end stay open. The snapshots
    are held by a tag until all is delivered.
    """
    from backfill.asked import jsonl_folder, understood
    from backfill.request import Run, new_run_id
    from headrace.config.load import load_workspace
    from headrace.errors import UsageError
    from headrace.log import configure_logging
    from headrace.signals import Drain

    configure_logging()
    if resume and run_id is None:
        raise UsageError("--resume needs to know which run", "give its --run-id")
    workspace = load_workspace(workspace_dir)
    app, request = understood(asked, workspace)
    run_ = Run(run_id or new_run_id(), resume)
    with Drain() as drain:
        if app is None:
            if target is None:
                raise UsageError("--table needs to know where the records go", "--to jsonl:DIR")
            place = jsonl_folder(target)
            certificate = _replay_tables(workspace, request, run_, place, drain)
        else:
            place = workspace.state_dir / "backfill" / run_.run_id
            certificate = _replay_app(workspace, app, request, run_, drain)
    click.echo(certificate.to_json() if as_json else certificate.to_text(place), nl=not as_json)
    if not certificate.complete and app is None:
        click.echo(f"stopped before its end; go on with --resume --run-id {run_.run_id}", err=True)
    elif not certificate.complete:
        click.echo("stopped before its end; begin it anew with another --run-id", err=True)
    return 0 if certificate.bound_held and not certificate.dropped_late else FAILED


def _replay_tables(
    workspace: Workspace, request: Request, run_: Run, folder: Path, drain: Drain
) -> Certificate:
    from backfill.jsonl import JsonlFolder
    from backfill.progress import follow
    from backfill.request import delivery

    output = JsonlFolder(folder, resume=run_.resume)
    with delivery(workspace, request, run_, output) as going:
        follow(going.run(output, drain))
        certificate = going.certificate()
        output.write_certificate(certificate.to_json())
    return certificate


def _replay_app(
    workspace: Workspace, app: LoadedApp, request: Request, run_: Run, drain: Drain
) -> Certificate:
    from backfill.app_replay import AppRun, replay_app
    from headrace.errors import UsageError
    from headrace.spark import session

    if run_.resume:
        raise UsageError(
            "the replay of an application cannot be resumed", "begin it anew: another --run-id"
        )
    with session(workspace, f"backfill-{app.config.name}") as spark:
        return replay_app(AppRun(app, workspace, run_.run_id), request, spark, drain)


def main() -> None:
    """Run `backfill` as a console script."""
    run(backfill, "backfill")
