"""`backfill`: reads the lake again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import rich_click as click

from backfill.results.cli import compare, publish, say_staged, sweep
from backfill.value_formats import FORMATS
from headrace.cli.command import FAILED, log_option, output_option, run, workspace_option
from headrace.contract import INGESTION_TS

if TYPE_CHECKING:
    from collections.abc import Callable

    from backfill.asked import Asked
    from backfill.value_formats import ValueFormat

F = TypeVar("F", bound="Callable[..., Any]")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def backfill() -> None:
    """Replay a period of the past from the lake."""


def table_options(function: F) -> F:
    """Add what a plan and a replay of tables have in common."""
    for option in (
        click.option(
            "--rate-limit",
            metavar="N|SIZE|auto",
            help="At most so many rows a second (5000), or bytes (10MiB; of an application's tables as"
            " they are stored); auto: as many as the target takes without slowing down.",
        ),
        click.option(
            "--order",
            type=click.Choice(["bounded", "any", "strict"]),
            help="bounded: nothing comes more than the threshold out of order;"
            " strict: each Kafka partition by its offsets, as a change log asks;"
            " any: file by file, as a plain batch job would. [default: bounded]",
        ),
        click.option(
            "--max-misalignment",
            "threshold",
            metavar="DURATION",
            help="How far a record may lie behind one that came in an earlier step, over all tables."
            " [default: the application's smallest threshold; for tables 15min]",
        ),
        click.option(
            "--scan-without-bounds",
            "scan",
            is_flag=True,
            help="Read the times of data files whose writer kept no bounds of them, while planning."
            " Without it such a file is refused by its name.",
        ),
        click.option(
            "--widen-watermarks",
            "widening",
            metavar="DURATION",
            help="Of an application: how much later than live a record may come in the replay. By"
            " default that is found from the bounds of the watermarks' columns, so that no record"
            " is dropped which was in time; with less, records may be.",
        ),
        click.option(
            "--null-times",
            type=click.Choice(["fail", "skip"]),
            help="What to do where rows have no time, and so are of no period: refuse the replay, or leave"
            " them out and count them. [default: as the application's file says; else fail]",
        ),
        click.option(
            "--up-to",
            type=click.Choice(["complete", "committed"]),
            default="complete",
            show_default=True,
            help="complete: refuse a period of the past that goes on beyond what a table says is complete;"
            " committed: replay what there is.",
        ),
        click.option(
            "--time-column",
            default=INGESTION_TS,
            show_default=True,
            metavar="COLUMN",
            help="The column of times that period, order and bound go by. A table of others may have"
            " another one; dots lead into a struct.",
        ),
        click.option(
            "--cooldown",
            metavar="DURATION",
            help="Of an application: read so much after the end as well, and emit nothing of it.",
        ),
        click.option(
            "--warmup",
            metavar="DURATION",
            help="Of an application: read so much before the start as well, and emit nothing of it:"
            " its windows, sessions and joins then begin complete.",
        ),
        click.option("--regions", default="", metavar="A,B", help="Only records of these regions."),
        click.option("--end-ts", "end", metavar="TIME", help="Up to here, not included."),
        click.option("--start-ts", "start", metavar="TIME", help="From this ingestion time on."),
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
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw what each step holds into this file: NAME.svg or NAME.png.",
)
@output_option
@workspace_option
@log_option
def plan(
    *, picture: Path | None, as_json: bool, workspace_dir: Path | None, **asked: Unpack[Asked]
) -> None:
    """Show what a replay would do: files, cuts, rows, bytes, steps, and a picture of them.

    By metadata: manifests, and the Parquet footers of files that span more time than the
    threshold. Of a row group that does so itself, the column of times is read; in strict order
    the columns of `__metadata__` are read of every file. Of an application, Spark is asked which
    columns and rows it uses: that takes some seconds, and builds its transform. By how much its
    watermarks are wider than live is found from the bounds of their columns, of the footers where
    the manifests have none.
    """
    from backfill import plan_report
    from backfill.asked import understood
    from backfill.commands import planned
    from backfill.picture import draw, drawable
    from backfill.speeds import speeds_for
    from headrace.config.load import load_workspace
    from headrace.log import configure_logging

    configure_logging()
    workspace = load_workspace(workspace_dir)
    place = None if picture is None else drawable(picture)
    app, request = understood(asked, workspace)
    made = planned(workspace, app, request)
    if place is not None:
        draw(made.plan, place)
    report = plan_report.as_json if as_json else plan_report.as_text
    known = speeds_for(workspace.state_dir / "backfill", None if app is None else app.config.name)
    click.echo(report(made.plan, known, made.parts, made.differences))


@backfill.command()
@table_options
@click.option(
    "--to",
    "target",
    metavar="jsonl:DIR|kafka:CLUSTER/TOPIC",
    help="With --table: where the records go.",
)
@click.option(
    "--key",
    metavar="COLUMN",
    help="To Kafka: the column that becomes the key, and spreads the records over the partitions."
    " [default: the key that the table keeps, if it does, and each record in the partition that it"
    " came from]",
)
@click.option(
    "--format",
    "value_format",
    type=click.Choice(FORMATS),
    help="To Kafka: how the values are written. raw: the bytes of the column value, with those of"
    " the column key. [default: as the table's own topic has them; json where the table does not"
    " say]",
)
@click.option(
    "--registry",
    metavar="URL",
    help="To Kafka as Avro: the schema registry, which gets the table's schema under TOPIC-value."
    " It is shown and kept nowhere: give it again with --resume.",
)
@click.option(
    "--stage",
    is_flag=True,
    help="Of an application: keep the result in a table beside its own, to be compared, and"
    " published by backfill publish.",
)
@click.option(
    "--open-windows",
    type=click.Choice(["leave", "close"]),
    default="leave",
    show_default=True,
    help="Of an application: what becomes of windows that are still open at the end. Closed, they"
    " are emitted with what they have, as if the end of all time had come.",
)
@click.option("--run-id", metavar="ID", help="The run's name. [default: made from the clock]")
@click.option("--resume", is_flag=True, help="Go on with the run of that --run-id.")
@output_option
@workspace_option
@log_option
def replay(
    *,
    target: str | None,
    key: str | None,
    value_format: ValueFormat | None,
    registry: str | None,
    stage: bool,
    open_windows: str,
    run_id: str | None,
    resume: bool,
    as_json: bool,
    workspace_dir: Path | None,
    **asked: Unpack[Asked],
) -> int:
    r"""Replay a period: the records of tables, or an application over them.

    If a record b came in an earlier step than a record a, then b is at most the threshold
    newer than a: for every two records of any of the tables, whatever the layout of the files.
    The period is half-open and goes by `__metadata__.kafka_ingestion_ts`, or by the column that
    --time-column names; times are ISO-8601, in UTC where they name no zone. A row without a time
    is of no period: a replay with such rows is refused, unless --null-times skip leaves them out and
    counts them. A certificate says what was read and how far out of order
    it was, as measured on the records; the exit code is 1 where it is not as it should be.

        backfill replay --table lake.playback.starts --to jsonl:replayed \
            --start-ts 2026-03-01T00:00:00Z --end-ts 2026-03-02T00:00:00Z
        backfill replay --table lake.playback.starts \
            --to kafka:consumer/starts_again --key user_id --rate-limit 5000 \
            --start-ts 2026-03-01 --end-ts 2026-03-02
        backfill replay -c apps/starts_by_country.yaml \
            --start-ts 2026-03-01T00:00:00Z --end-ts 2026-03-02T00:00:00Z
        backfill replay --resume --run-id replay-20260302-080000-000000

    To a folder: one file per step. To a topic: the values in the format of the table's own topic
    (JSON, Avro or raw), the key and the headers that the table keeps of each record, and the header
    `headrace.origin` with topic/partition/offset/milliseconds of the original, at least once.
    With -c each dynamic source reads its candidate of type iceberg, watermarks are widened so that
    no record is dropped which was in time (backfill plan says by how much), the result goes to the
    application's own sink, and windows that are still open at the end stay open, unless
    --open-windows close. Ctrl-C ends it after the step at hand; --resume goes on from there by
    the plan that was made at the beginning, also after a crash. The snapshots are held by a tag
    until all is delivered.
    """
    from backfill.commands import ReplayWish, replay_as_asked
    from headrace.config.load import load_workspace
    from headrace.config.secret import Secret
    from headrace.errors import UsageError
    from headrace.log import configure_logging

    configure_logging()
    if resume and run_id is None:
        raise UsageError("--resume needs to know which run", "give its --run-id")
    workspace = load_workspace(workspace_dir)
    run_id, place, certificate = replay_as_asked(
        workspace,
        ReplayWish(
            asked,
            target,
            key,
            run_id,
            resume,
            stage,
            close_windows=open_windows == "close",
            value_format=value_format,
            registry=None if registry is None else Secret(registry),
        ),
    )
    click.echo(certificate.to_json() if as_json else certificate.to_text(place), nl=not as_json)
    if certificate.complete:
        say_staged(workspace, run_id)
    if not certificate.complete:
        click.echo(f"stopped before its end; go on with --resume --run-id {run_id}", err=True)
    return FAILED if certificate.differences() else 0


@backfill.command()
@click.argument("run_id", required=False)
@output_option
@workspace_option
@log_option
def status(run_id: str | None, *, as_json: bool, workspace_dir: Path | None) -> None:
    """Show the replays of this workspace, or one of them: how far each is, and how it goes on."""
    from backfill import runs
    from headrace.config.load import load_workspace

    workspace = load_workspace(workspace_dir)
    found = runs.runs_of(workspace) if run_id is None else [runs.status_of(workspace, run_id)]
    if as_json:
        click.echo(runs.as_json(found))
    else:
        click.echo("\n".join(map(runs.as_text, found)) or "no replay has begun here")


@backfill.command()
@click.argument("run_id")
@click.option(
    "--delete-output",
    is_flag=True,
    help="Remove the files (jsonl) or the staging table that it has written as well.",
)
@output_option
@workspace_option
@log_option
def cancel(run_id: str, *, delete_output: bool, as_json: bool, workspace_dir: Path | None) -> None:
    """End a replay for good: its plan, its position and its tags on the tables are removed."""
    import json
    from dataclasses import asdict

    from backfill import runs
    from headrace.config.load import load_workspace
    from headrace.log import configure_logging

    configure_logging()
    done = runs.cancel(load_workspace(workspace_dir), run_id, delete_output=delete_output)
    if as_json:
        click.echo(json.dumps(asdict(done), indent=2))
        return
    click.echo(f"cancelled {run_id}")
    for table in done.tags_removed:
        click.echo(f"  its tag on {table} is removed")
    if done.output_removed is not None:
        click.echo(f"  what it has written to {done.output_removed} is removed")


backfill.add_command(compare)
backfill.add_command(publish)
backfill.add_command(sweep)


def main() -> None:
    """Run `backfill` as a console script."""
    run(backfill, "backfill")
