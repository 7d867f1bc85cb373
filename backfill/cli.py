"""`backfill`: reads the lake again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import rich_click as click

from headrace.cli.command import FAILED, log_option, output_option, run, workspace_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from backfill.plan import Order
    from backfill.request import Request

F = TypeVar("F", bound="Callable[..., Any]")
MICROSECOND = timedelta(microseconds=1)


class Asked(TypedDict):
    """What a plan and a replay are both asked for."""

    tables: tuple[str, ...]
    start: str
    end: str
    regions: str
    threshold: str
    order: Order


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
            default="15min",
            show_default=True,
            metavar="DURATION",
            help="How far a record may lie behind one that came in an earlier step, over all tables.",
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
            required=True,
            metavar="CATALOG.DB.TABLE",
            help="A table to replay; several are put into one order.",
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
    from backfill.request import plan_of
    from headrace.config.load import load_workspace
    from headrace.log import configure_logging

    configure_logging()
    request = _request(asked)
    made = plan_of(load_workspace(workspace_dir), request)
    click.echo(plan_report.as_json(made) if as_json else plan_report.as_text(made))


@backfill.command()
@table_options
@click.option("--to", "target", required=True, metavar="jsonl:DIR", help="Where the records go.")
@click.option("--run-id", metavar="ID", help="The run's name. [default: made from the clock]")
@click.option("--resume", is_flag=True, help="Go on with the run of that --run-id.")
@output_option
@workspace_option
@log_option
def replay(
    *,
    target: str,
    run_id: str | None,
    resume: bool,
    as_json: bool,
    workspace_dir: Path | None,
    **asked: Unpack[Asked],
) -> int:
    """Replay the records of tables in lateness-bounded order, all tables on one frontier.

    If a record b came in an earlier step than a record a, then b is at most the threshold
    newer than a: for every two records of any of the tables, whatever the layout of the files.
    The period is half-open and goes by `__metadata__.kafka_ingestion_ts`; times are ISO-8601,
    in UTC where they name no zone. DIR gets one file per step and certificate.json, which
    says what was delivered and how far out of order it was, as measured on the records.

        backfill replay --table lake.playback.starts --to jsonl:replayed
                 --start-ts 2026-03-01T00:00:00Z --end-ts 2026-03-02T00:00:00Z

    Ctrl-C ends it after the step at hand; --resume with its run id goes on from there, also
    after a crash. The snapshots are held by a tag until all is delivered.
    """
    from backfill.jsonl import JsonlFolder
    from backfill.progress import follow
    from backfill.request import Run, delivery, new_run_id
    from headrace.config.load import load_workspace
    from headrace.errors import UsageError
    from headrace.log import configure_logging
    from headrace.signals import Drain

    configure_logging()
    if resume and run_id is None:
        raise UsageError("--resume needs to know which run", "give its --run-id")
    request = _request(asked)
    folder = jsonl_folder(target)
    workspace = load_workspace(workspace_dir)
    run_ = Run(run_id or new_run_id(), resume)
    with Drain() as drain:
        output = JsonlFolder(folder, resume=resume)
        with delivery(workspace, request, run_, output) as going:
            follow(going.run(output, drain))
            certificate = going.certificate()
            output.write_certificate(certificate.to_json())
    click.echo(certificate.to_json() if as_json else certificate.to_text(folder), nl=not as_json)
    if not certificate.complete:
        click.echo(f"stopped before its end; go on with --resume --run-id {run_.run_id}", err=True)
    return 0 if certificate.bound_held else FAILED


def _request(asked: Asked) -> Request:
    from backfill.period import parse_period
    from backfill.request import Request
    from headrace.config.units import UnitError, parse_duration
    from headrace.errors import UsageError

    try:
        threshold = parse_duration(asked["threshold"])
    except UnitError as problem:
        raise UsageError(
            f"--max-misalignment {asked['threshold']}: {problem.reason}", problem.advice
        ) from None
    regions = (region.strip() for region in asked["regions"].split(","))
    return Request(
        tables=asked["tables"],
        period=parse_period(asked["start"], asked["end"]),
        regions=tuple(region for region in regions if region),
        order=asked["order"],
        threshold_us=threshold // MICROSECOND,
    )


def jsonl_folder(target: str) -> Path:
    """Read `jsonl:DIR`."""
    from headrace.errors import UsageError

    kind, _, place = target.partition(":")
    if kind != "jsonl" or not place:
        raise UsageError(f"--to {target} is no target", "write it as jsonl:DIR")
    return Path(place)


def main() -> None:
    """Run `backfill` as a console script."""
    run(backfill, "backfill")
