"""`backfill compare` and `backfill publish`: what becomes of a replay's result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import FAILED, log_option, output_option, workspace_option

if TYPE_CHECKING:
    from headrace.config.workspace import Workspace


@click.command()
@click.option("--left", required=True, metavar="TABLE", help="The result to go by: the live one.")
@click.option("--right", required=True, metavar="TABLE", help="The result to judge: the replay's.")
@click.option(
    "--key", required=True, metavar="A,B", help="The columns that name a row of the result."
)
@click.option("--ignore", default="", metavar="A,B", help="Columns that need not be the same.")
@click.option(
    "--min-match",
    default="100",
    show_default=True,
    metavar="PERCENT",
    help="Exit with 1 where less than this matches.",
)
@click.option(
    "--time", "time_column", metavar="COLUMN", help="The column that says when a row belongs."
)
@click.option("--start-ts", "start", metavar="TIME", help="With --time: rows from here on.")
@click.option("--end-ts", "end", metavar="TIME", help="With --time: rows up to here, not included.")
@click.option(
    "-c",
    "--config",
    "app_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With a period: the application (kind: app) whose results these are. Its sources tell"
    " which records came later than its watermark allows; a mismatch near one is called late.",
)
@click.option(
    "--boundary",
    default="1h",
    show_default=True,
    metavar="DURATION",
    help="With a period: how near is near, to one of its ends or to a late record.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How many mismatches of each kind are shown.",
)
@output_option
@workspace_option
@log_option
def compare(  # noqa: PLR0917 - click passes them by name
    left: str,
    right: str,
    key: str,
    ignore: str,
    min_match: str,
    time_column: str | None,
    start: str | None,
    end: str | None,
    app_path: Path | None,
    boundary: str,
    examples: int,
    *,
    as_json: bool,
    workspace_dir: Path | None,
) -> int:
    r"""Compare two tables of results by key: how much matches, and what the rest is.

    Rows of one key are compared as a set, whatever their order. Each mismatch is counted once:
    **missing** (only the left table has the key), **extra** (only the right one),
    **differing** (other values), **repeated** (the key is there more often on one side) and,
    with a period, **boundary** (within --boundary of its start or end, whatever else it is) and,
    with -c, **late** (within --boundary of a record that the live watermark was past).

        backfill compare --left lake.playback.sessions \
            --right lake.playback.sessions__again --key user_id,started \
            --time started --start-ts 2026-03-01 --end-ts 2026-03-02 \
            --ignore written_at --min-match 99.9

    The exit code is 1 where less matches than --min-match, or where both tables hold nothing.
    """
    from backfill.results.compare import Wish
    from backfill.results.compared import compared_tables, percent_of, period_of
    from headrace.config.load import load_workspace
    from headrace.log import configure_logging

    configure_logging()
    least = percent_of(min_match)
    period, boundary_us = period_of(time_column, start, end, boundary)
    wish = Wish(_names(key), _names(ignore), time_column, period, boundary_us, examples)
    found = compared_tables(load_workspace(workspace_dir), left, right, wish, app_path)
    click.echo(found.to_json(least) if as_json else found.to_text(least))
    return 0 if found.is_at_least(least) else FAILED


@click.command()
@click.option(
    "-c",
    "--config",
    "app_path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The application's file (kind: app), its sink an Iceberg table with a time_column.",
)
@click.option("--start-ts", "start", required=True, metavar="TIME", help="A period that went well.")
@click.option("--end-ts", "end", required=True, metavar="TIME", help="Up to here, not included.")
@click.option("--warmup", metavar="DURATION", help="Read so much before the start as well.")
@click.option("--cooldown", metavar="DURATION", help="Read so much after the end as well.")
@click.option(
    "--thresholds",
    default="1min,5min,15min,1h",
    show_default=True,
    metavar="A,B",
    help="What to try as --max-misalignment.",
)
@click.option("--key", required=True, metavar="A,B", help="As in backfill compare.")
@click.option("--ignore", default="", metavar="A,B", help="As in backfill compare.")
@click.option(
    "--min-match", default="100", show_default=True, metavar="PERCENT", help="What safe means."
)
@output_option
@workspace_option
@log_option
def sweep(  # noqa: PLR0917 - click passes them by name
    app_path: Path,
    start: str,
    end: str,
    warmup: str | None,
    cooldown: str | None,
    thresholds: str,
    key: str,
    ignore: str,
    min_match: str,
    *,
    as_json: bool,
    workspace_dir: Path | None,
) -> int:
    r"""Find the cheapest safe threshold: replay a period by each, and compare with the live result.

    Take a period of an hour or two that went well. A threshold is safe where nothing was dropped
    as late and enough matches; the cheapest is the one that took the least time. Small ones cut
    files and make many steps, large ones make the application keep more in mind. Each replay goes
    to a table of its own, which is removed again.

        backfill sweep -c apps/rmi.yaml --key impression_id,play_id \
            --thresholds 1min,15min --warmup 75min --cooldown 2h \
            --start-ts 2026-03-01T10:00 --end-ts 2026-03-01T12:00
    """
    from backfill.results.swept import swept
    from headrace.config.load import load_workspace
    from headrace.log import configure_logging

    configure_logging()
    report, is_safe = swept(
        load_workspace(workspace_dir),
        app_path,
        (start, end),
        (warmup, cooldown),
        [_names(one) for one in (thresholds, key, ignore)],
        min_match,
        as_json=as_json,
    )
    click.echo(report)
    return 0 if is_safe else FAILED


@click.command()
@click.argument("run_id")
@output_option
@workspace_option
@log_option
def publish(run_id: str, *, as_json: bool, workspace_dir: Path | None) -> None:
    r"""Bring what a replay has staged into the application's own table, in one commit.

    By the sink's mode: **append** adds the rows, **upsert** merges them by key, **replace** puts
    them in the place of all rows whose time lies in the replay's period. A live job may go on
    writing to the table. The staging table is removed; killed at any point, it can be done again.

        backfill replay -c apps/sessions.yaml --stage --run-id again \
            --start-ts 2026-03-01 --end-ts 2026-03-02 --warmup 2h --cooldown 2h
        backfill compare --left lake.playback.sessions \
            --right lake.playback.sessions__again --key user_id,started
        backfill publish again
    """
    import json

    from backfill.results.published import published
    from headrace.config.load import load_workspace
    from headrace.log import configure_logging

    configure_logging()
    table, rows = published(load_workspace(workspace_dir), run_id)
    if as_json:
        click.echo(json.dumps({"run_id": run_id, "table": table, "rows": rows}, indent=2))
    else:
        click.echo(f"{rows:,} rows of {run_id} are in {table}")


def say_staged(workspace: Workspace, run_id: str) -> None:
    """Say on stderr where a run's result waits, and what brings it into the table."""
    from backfill.request import state_of

    record = state_of(workspace, run_id).record()
    if record is None or record.staged is None or record.publish:
        return
    live = record.to.partition(":")[2]
    text = (
        f"staged in {record.staged}"
        f"\n  compare: backfill compare --left {live} --right {record.staged} --key …"
    )
    if (record.sink or {}).get("deleted") is None:
        text += f"\n  publish: backfill publish {run_id}"
    click.echo(text, err=True)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
