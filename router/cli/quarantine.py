"""`router quarantine`: lists rejected records, and replays them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import format_option, log_option
from router.cli.options import config_option, region_option, stream_options, with_stream

if TYPE_CHECKING:
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace


@click.group()
def quarantine() -> None:
    """List the rejected records of a stream, and replay them after you have corrected its file."""


@quarantine.command("list")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many of the newest records are shown one by one.",
)
@stream_options
def list_quarantined(workspace: Workspace, stream: Effective, *, limit: int, as_json: bool) -> None:
    """List the rejected records of a stream: their number by reason, then the newest one by one.

    Each record is shown with its topic, partition and offset, the stage that rejected it, the
    reason, its time, its size and its first bytes.

    For example: `router quarantine list -c streams/playback.yaml --limit 5`
    """
    from router.quarantine import report
    from router.quarantine.records import listing

    found = listing(workspace, stream, limit)
    click.echo(report.list_json(found) if as_json else report.list_text(found))


@quarantine.command("replay")
@config_option
@click.option("--output", "outputs", multiple=True, help="Send only to this output. [default: all]")
@click.option("--dry-run", is_flag=True, help="Show what would be sent; send and store nothing.")
@region_option
@format_option
@with_stream
@log_option
def replay_quarantined(
    workspace: Workspace,
    stream: Effective,
    *,
    outputs: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Process rejected records again with the stream's current file, and send those that pass.

    Each record goes to the outputs that it failed for: to all of them if it could not be read, to
    one if that output could not evaluate or write it. It carries its original headers and origin.
    Records that are still rejected stay, and the next replay tries them again. Records that were
    sent are not sent again. Ctrl-C ends the command after the current records.

    For example: `router quarantine replay -c streams/playback.yaml --dry-run`
    """
    from headrace.signals import Drain
    from router.explain.explanation import spark_evaluator
    from router.quarantine import report
    from router.quarantine.replay import Request, replay_quarantine

    with Drain() as drain, spark_evaluator(workspace, stream) as by_spark:
        request = Request(outputs, dry_run)
        replayed = replay_quarantine(workspace, stream, request, by_spark, drain)
    shown = report.replay_json if as_json else report.replay_text
    click.echo(shown(replayed))
