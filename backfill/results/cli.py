"""`backfill compare`: what a replay gave, against what the live run gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import FAILED, log_option, output_option, workspace_option

if TYPE_CHECKING:
    from pathlib import Path


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
    "--boundary",
    default="1h",
    show_default=True,
    metavar="DURATION",
    help="With a period: a mismatch so near to one of its ends is called boundary.",
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
    boundary: str,
    examples: int,
    *,
    as_json: bool,
    workspace_dir: Path | None,
) -> int:
    """Compare two tables of results by key: how much matches, and what the rest is.

    Rows of one key are compared as a set, whatever their order. Each mismatch is counted once:
    **missing** (only the left table has the key), **extra** (only the right one),
    **differing** (other values), **repeated** (the key is there more often on one side) and,
    with a period, **boundary** (within --boundary of its start or end, whatever else it is).

        backfill compare --left lake.playback.sessions --right lake.playback.sessions_again
                 --key user_id,started --time started --start-ts 2026-03-01 --end-ts 2026-03-02
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
    found = compared_tables(load_workspace(workspace_dir), left, right, wish)
    click.echo(found.to_json(least) if as_json else found.to_text(least))
    return 0 if found.is_at_least(least) else FAILED


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
