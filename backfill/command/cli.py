"""`backfill`: replays what the lake holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import rich_click as click

from backfill.command.options import replay_options, table_options
from backfill.results.cli import compare, publish, say_staged, sweep
from headrace.cli.command import FAILED, command_options, run, show
from headrace.cli.http_option import http_option
from headrace.cli.metrics_option import metrics_options

if TYPE_CHECKING:
    from backfill.command.start import ReplayOptions
    from backfill.run.options import RequestOptions
    from headrace.config.workspace.workspace import Workspace

# A step of an application may take minutes.
STOPPED_WITHIN_S = 600.0


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def backfill() -> None:
    """Replay a period of the past from Iceberg tables."""


@backfill.command()
@table_options
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the contents of each step into this file: NAME.svg.",
)
@command_options
def plan(
    *,
    picture: Path | None,
    as_json: bool,
    workspace: Workspace,
    **options: Unpack[RequestOptions],
) -> None:
    """Show what a replay would do: files, cuts, rows, bytes, steps, and a picture of them.

    The plan comes from metadata: from the manifests, and from the Parquet footers of files that
    span more time than the threshold (--max-misalignment). If a row group also spans more, its
    column of times is read. In strict order, the columns of `__metadata__` of every file are read.

    For an application, Spark builds the transform and says which columns and rows it uses; this
    takes some seconds. The plan also shows how much longer than live the delays of the watermarks
    are. It takes that from the bounds of their columns, in the manifests or else in the footers.
    """
    from backfill.command import plan_report
    from backfill.command.planned import plan_replay
    from backfill.command.progress import speeds_for
    from backfill.plan.picture import draw, drawable
    from backfill.run.options import parse_request

    location = None if picture is None else drawable(picture)
    app, request = parse_request(options, workspace)
    made = plan_replay(workspace, app, request)
    if location is not None:
        draw(made.plan, location)
    report = plan_report.as_json if as_json else plan_report.as_text
    known = speeds_for(workspace.state_dir / "backfill", None if app is None else app.config.name)
    click.echo(report(made, known))


@backfill.command()
@table_options
@replay_options
@http_option()
@metrics_options
@command_options
def replay(*, as_json: bool, workspace: Workspace, **options: Unpack[ReplayOptions]) -> int:
    r"""Replay a period: the records of tables, or an application over them.

    If a record b came in an earlier step than a record a, then b is at most the threshold
    (--max-misalignment) newer than a. This holds for every two records of all tables, whatever the
    layout of the files.

    The period is half-open, `[start, end)`, by `__metadata__.kafka_ingestion_ts` or by the column
    that --time-column names. Times are ISO-8601, in UTC if they name no zone. A replay with rows
    without a time is rejected; with --null-times skip, they are left out and counted.

    At the end, a certificate says what was read, and how far out of order the records were, as
    measured on the records. The exit code is 1 if it differs from the plan.

        backfill replay --table lake.playback.starts --to jsonl:replayed \
            --start-ts 2026-03-01T00:00:00Z --end-ts 2026-03-02T00:00:00Z
        backfill replay --table lake.playback.starts \
            --to kafka:consumer/starts_again --key user_id --rate-limit 5000 \
            --start-ts 2026-03-01 --end-ts 2026-03-02
        backfill replay -c apps/starts_by_country.yaml \
            --start-ts 2026-03-01T00:00:00Z --end-ts 2026-03-02T00:00:00Z
        backfill replay --resume --run-id replay-20260302-080000-000000

    To a folder (jsonl), it writes one file per step. To a topic (kafka), it writes each record at
    least once: the value in the format of the table's own topic (JSON, Avro or raw), the key and
    headers that the table stores, and the header `headrace.origin` with
    topic/partition/offset/milliseconds of the original.

    With -c, each dynamic source reads its candidate of type iceberg, and the result goes to the
    application's own sink. The watermarks are wider than live, so that no record is dropped that
    was in time (backfill plan says by how much). Windows that are still open at the end are not
    emitted, unless you give --open-windows close.

    Ctrl-C ends the replay after the current step. --resume continues it with the same plan, also
    after a crash. Tags protect the snapshots until all records are delivered. With --http, /metrics
    and /api/v1/replays tell how far it is. With --metrics-file or --metrics-push, the metrics go
    there at the end.
    """
    from backfill.command.start import run_replay
    from headrace.errors import UsageError

    if options["resume"] and options["run_id"] is None:
        raise UsageError("--resume needs the id of the run", "give its --run-id")
    run_id, location, certificate = run_replay(workspace, options)
    click.echo(certificate.to_json() if as_json else certificate.to_text(location), nl=not as_json)
    if certificate.complete:
        say_staged(workspace, run_id)
    else:
        click.echo(f"stopped early; continue with --resume --run-id {run_id}", err=True)
    return FAILED if certificate.differences() else 0


@backfill.command()
@click.argument("run_id", required=False)
@command_options
def status(run_id: str | None, *, as_json: bool, workspace: Workspace) -> None:
    """Show the replays of this workspace, or one of them: its progress, and how to continue it."""
    from backfill.results import runs

    found = runs.runs_of(workspace) if run_id is None else [runs.status_of(workspace, run_id)]
    text = "\n".join(map(runs.as_text, found)) or "no replay has been started here"
    show([asdict(run) for run in found], text, as_json=as_json)


@backfill.command()
@click.argument("run_id")
@click.option(
    "--delete-output",
    is_flag=True,
    help="Also remove the files (jsonl) or the staging table that it has written.",
)
@click.option(
    "--stop",
    is_flag=True,
    help="If the replay runs on this host, stop it first: it finishes its current step.",
)
@command_options
def cancel(
    run_id: str, *, delete_output: bool, stop: bool, as_json: bool, workspace: Workspace
) -> None:
    """End a replay for good. Its plan, its position and its tags on the tables are removed."""
    from backfill.results import runs, stopping

    if stop:
        stopping.stop(workspace, run_id, STOPPED_WITHIN_S)
    done = runs.cancel(workspace, run_id, delete_output=delete_output)
    lines = [
        f"cancelled {run_id}",
        *(f"  its tag on {one} is removed" for one in done.tags_removed),
    ]
    if done.output_removed is not None:
        lines.append(f"  what it has written to {done.output_removed} is removed")
    show(asdict(done), "\n".join(lines), as_json=as_json)


backfill.add_command(compare)
backfill.add_command(publish)
backfill.add_command(sweep)


def main() -> None:
    """Run `backfill` as a console script."""
    run(backfill, "backfill")
