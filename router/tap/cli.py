"""`headrace tap`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import command_options

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace


@click.command()
@click.argument("stream", metavar="STREAM[.OUTPUT]")
@click.option(
    "--where",
    metavar="EXPR",
    help="Only records for which this is true, as an output's filter sees them.",
)
@click.option(
    "-n", "most", type=click.IntRange(min=1), metavar="N", help="End after so many records."
)
@click.option(
    "--from",
    "begin",
    default="end",
    show_default=True,
    metavar="end|beginning|TIME",
    help="Begin there; TIME is ISO-8601.",
)
@click.option("--once", is_flag=True, help="Show what is there now, then end.")
@click.option(
    "--fixture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the records to this new file, for tests.",
)
@click.option(
    "--spark", "by_spark", is_flag=True, help="Start Spark to evaluate Spark expressions."
)
@click.option("--region", help="Use the settings of this deployment (overrides in the file).")
@command_options
def tap(
    workspace: Workspace,
    *,
    stream: str,
    where: str | None,
    most: int | None,
    begin: str,
    once: bool,
    fixture: Path | None,
    by_spark: bool,
    region: str | None,
    as_json: bool,
) -> None:
    """Show the records of a stream as they arrive, and what the stream does with each.

    It reads the source topic itself, from its end, and sees only committed records. It joins no
    consumer group and leaves none, so it is safe beside a router. For each record it shows the rule
    that it breaks and what then happens to it, or, for each output, whether it is written or
    filtered, by the functions and the file that a router would use (as `router explain`).
    STREAM.OUTPUT shows one output alone.

    --where takes an expression over the columns, after the masks; a record that is rejected has
    none. Fields that the stream masks are masked here, too; the keys of such a stream, and its
    rejected records, are not shown.

    --fixture writes the records that are shown, a line each, as `headrace produce --envelope`,
    `router explain --envelope` and `run_app` of headrace.testing read them. Of STREAM.OUTPUT it
    writes what the output writes: the input of a test of an application.

    Ctrl-C ends it. What is read, and at the end the counts, are on stderr. -o json prints a line for each record.

    For example: `headrace tap playback.starts --where "country = 'JP'" -n 5`
    """
    from functools import partial

    from headrace.signals import Drain
    from router.tap.stream_names import named
    from router.tap.tap import TapRequest
    from router.tap.tap import tap as tap_stream

    found = named(workspace, stream, region)
    request = TapRequest(where, begin, most, once, fixture, by_spark, as_json)
    with Drain(announces=False) as drain:
        beside = partial(click.echo, err=True)
        tap_stream(workspace, found, request, drain, say=click.echo, say_beside=beside)
