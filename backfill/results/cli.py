"""`backfill compare`, `sweep` and `publish`: commands about the result of a replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import FAILED, command_options, file_option, show

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace


@click.command()
@click.option(
    "--left", required=True, metavar="TABLE", help="The reference table: the live result."
)
@click.option(
    "--right", required=True, metavar="TABLE", help="The table to check: the result of the replay."
)
@click.option("--key", required=True, metavar="A,B", help="The columns that identify a row.")
@click.option("--ignore", default="", metavar="A,B", help="Columns that may differ.")
@click.option(
    "--min-match",
    default="100",
    show_default=True,
    metavar="PERCENT",
    help="How much has to match. If less matches, the exit code is 1.",
)
@click.option("--time", "time_column", metavar="COLUMN", help="The column with the time of a row.")
@click.option(
    "--start-ts", "start", metavar="TIME", help="With --time: only rows from this time on."
)
@click.option("--end-ts", "end", metavar="TIME", help="With --time: only rows before this time.")
@click.option(
    "-c",
    "--config",
    "app_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With a period: the application (kind: app) of these results. Its sources show which"
    " records came later than its watermark allows. A mismatch near such a record counts as late.",
)
@click.option(
    "--boundary",
    default="1h",
    show_default=True,
    metavar="DURATION",
    help="With a period: how far from its start, its end or a late record a mismatch may be to count"
    " as near.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How many mismatches of each kind are shown.",
)
@command_options
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
    workspace: Workspace,
) -> int:
    r"""Compare two tables by key: show how much matches, and which kinds of mismatches there are.

    Rows with the same key are compared as a set; their order does not matter. Each mismatch counts
    once: **missing** (only the left table has the key), **extra** (only the right table has it),
    **differing** (the values differ), **repeated** (one table has more rows with the key). With a
    period, a mismatch within --boundary of its start or end counts as **boundary**. With -c, a
    mismatch within --boundary of a record that came after the live watermark had passed it counts
    as **late**.

        backfill compare --left lake.playback.sessions \
            --right lake.playback.sessions__again --key user_id,started \
            --time started --start-ts 2026-03-01 --end-ts 2026-03-02 \
            --ignore written_at --min-match 99.9

    The exit code is 1 if less than --min-match matches, or if neither table has rows.
    """
    from backfill.results.compare import CompareOptions, compare_tables
    from backfill.run.options import parse_compared_period, parse_percent

    least = parse_percent(min_match)
    period, boundary_us = parse_compared_period(time_column, start, end, boundary)
    options = CompareOptions(
        _names(key), _names(ignore), time_column, period, boundary_us, examples
    )
    found = compare_tables(workspace, left, right, options, app_path)
    click.echo(found.to_json(least) if as_json else found.to_text(least))
    return 0 if found.is_at_least(least) else FAILED


@click.command()
@file_option("application's file (kind: app). Its sink is an Iceberg table with a time_column")
@click.option(
    "--start-ts",
    "start",
    required=True,
    metavar="TIME",
    help="The start of a period in which everything went well.",
)
@click.option("--end-ts", "end", required=True, metavar="TIME", help="Its end, not included.")
@click.option("--warmup", metavar="DURATION", help="Also read this much before the start.")
@click.option("--cooldown", metavar="DURATION", help="Also read this much after the end.")
@click.option(
    "--thresholds",
    default="1min,5min,15min,1h",
    show_default=True,
    metavar="A,B",
    help="The thresholds to try (--max-misalignment of backfill replay).",
)
@click.option("--key", required=True, metavar="A,B", help="As in backfill compare.")
@click.option("--ignore", default="", metavar="A,B", help="As in backfill compare.")
@click.option(
    "--min-match",
    default="100",
    show_default=True,
    metavar="PERCENT",
    help="How much of a safe threshold's result has to match.",
)
@command_options
def sweep(  # noqa: PLR0917 - click passes them by name
    path: Path,
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
    workspace: Workspace,
) -> int:
    r"""Find the cheapest safe threshold: replay a period with each one and compare the results.

    Choose a period of an hour or two in which everything went well. A threshold is safe if its
    replay drops no record as late and its result matches the live one. The cheapest safe threshold
    is the one whose replay takes the least time. A small threshold cuts files and makes many steps;
    a large one makes the application keep more state. Each replay writes to a separate table, which
    is removed afterwards.

        backfill sweep -c apps/rmi.yaml --key impression_id,play_id \
            --thresholds 1min,15min --warmup 75min --cooldown 2h \
            --start-ts 2026-03-01T10:00 --end-ts 2026-03-01T12:00
    """
    from backfill.results.sweep import cheapest, report_facts, report_text, sweep_thresholds
    from backfill.run.options import RequestOptions, parse_percent

    least = parse_percent(min_match)
    period = RequestOptions(app_path=path, start=start, end=end, warmup=warmup, cooldown=cooldown)
    results = sweep_thresholds(workspace, period, _names(thresholds), _names(key), _names(ignore))
    show(report_facts(results, least), report_text(results, least), as_json=as_json)
    return 0 if cheapest(results, least) is not None else FAILED


@click.command()
@click.argument("run_id")
@command_options
def publish(run_id: str, *, as_json: bool, workspace: Workspace) -> None:
    r"""Put the staged result of a replay into the application's table, in one commit.

    The mode of the sink decides how: **append** adds the rows, **upsert** merges them by key,
    **replace** replaces all rows whose time is in the replay's period. A live job may write to the
    table at the same time. The staging table is removed. If the command is killed at any point, run
    it again.

        backfill replay -c apps/sessions.yaml --stage --run-id again \
            --start-ts 2026-03-01 --end-ts 2026-03-02 --warmup 2h --cooldown 2h
        backfill compare --left lake.playback.sessions \
            --right lake.playback.sessions__again --key user_id,started
        backfill publish again
    """
    from backfill.apps.publish import publish_run

    table, rows = publish_run(workspace, run_id)
    facts = {"run_id": run_id, "table": table, "rows": rows}
    show(facts, f"{rows:,} rows of {run_id} are in {table}", as_json=as_json)


def say_staged(workspace: Workspace, run_id: str) -> None:
    """Show on stderr where a run's result is staged, and how to compare and publish it."""
    from backfill.run.request import state_of

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
