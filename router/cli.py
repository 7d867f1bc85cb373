"""`router`: runs a stream, and tells of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import FAILED, log_option, output_option, run, workspace_option

if TYPE_CHECKING:
    from headrace.config.effective import Effective
    from headrace.config.workspace import Workspace

config_option = click.option(
    "-c",
    "--config",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The stream's file (kind: stream).",
)
# As --output elsewhere, which names an output here.
format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the counts are printed at the end.",
)
region_option = click.option(
    "--region", help="As the deployment of that name runs it (overrides in the file)."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def router() -> None:
    """Route a Kafka topic to others: filter, project, and lose nothing on the way."""


@router.command()
@config_option
@click.option("--output", "outputs", multiple=True, help="Only this output. [default: all]")
@click.option("--region", help="Run the deployment of that name (overrides in the file).")
@click.option("--once", is_flag=True, help="Route what is there now, then end.")
@format_option
@workspace_option
@log_option
def start(
    path: Path,
    outputs: tuple[str, ...],
    region: str | None,
    *,
    once: bool,
    form: str,
    workspace_dir: Path | None,
) -> None:
    """Run the jobs of a stream until Ctrl-C.

    Every output has its own place in the topic, and (with isolation: output) a job of its own:
    a failing one holds up no other, and is started again, later each time. Ctrl-C or SIGTERM
    lets the batch at hand end; what was not read stays in Kafka and is read at the next start.
    Bad records go to the quarantine topic with the reason.

    The lag stands in Kafka under the consumer groups `headrace.<stream>.<output>`; what became of
    every record stands in the ledger, see router audit.
    """
    from headrace.log import configure_logging
    from headrace.signals import Drain
    from headrace.spark import session
    from router.jobs import StreamRouter
    from router.report import as_json, as_text

    configure_logging()
    workspace, stream = _loaded(path, workspace_dir, region)
    name = stream.config.name
    with Drain() as drain:
        stream_router = StreamRouter(workspace, stream, outputs)
        conf = stream_router.prepare()
        with session(workspace, f"router-{name}", conf, lasting=not once) as spark:
            counts = stream_router.run(spark, drain, once=once)
    click.echo(as_json(name, counts) if form == "json" else as_text(name, counts))


@router.command()
@config_option
@region_option
@output_option
@workspace_option
def show(path: Path, region: str | None, *, as_json: bool, workspace_dir: Path | None) -> None:
    """Show every setting that a stream runs with, and where its value comes from.

    The file, what the deployment changes, and the defaults, each with the file and line of it.
    Secrets are shown as `***`. Nothing is asked of a cluster.

    For example: `router show -c streams/playback.yaml --region eu-west-1`
    """
    from headrace.config import origins

    workspace, stream = _loaded(path, workspace_dir, region)
    settings = origins.settings_of(stream, workspace)
    click.echo(origins.as_json(settings) if as_json else origins.as_text(settings))


@router.command()
@config_option
@click.option(
    "--record",
    "file",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="A file with a record a line, or one JSON object over all lines; - is stdin.",
)
@click.option(
    "--envelope",
    is_flag=True,
    help="A line is an object with value (or value_base64), key, headers and timestamp.",
)
@click.option("--spark", "with_spark", is_flag=True, help="Let Spark evaluate what only it can.")
@region_option
@output_option
@workspace_option
@log_option
def explain(
    path: Path,
    file: Path,
    region: str | None,
    *,
    envelope: bool,
    with_spark: bool,
    as_json: bool,
    workspace_dir: Path | None,
) -> None:
    """Say what a stream would make of records, without a broker and with nothing written.

    For each record: the hygiene rule that it breaks and what becomes of it; or how it looks after
    the masks, and for each output whether its filter lets it pass, and the key, value and headers
    that would be written. For each output: its lane, and why Spark has to evaluate it if it does.

    For example: `echo '{"event_id": "1"}' | router explain -c streams/playback.yaml --record -`
    """
    from contextlib import nullcontext

    from headrace.log import configure_logging
    from router import explain_report
    from router.explaining import explanation_of
    from router.spark_given import evaluator

    configure_logging()
    workspace, stream = _loaded(path, workspace_dir, region)
    with evaluator(workspace, stream) if with_spark else nullcontext() as by_spark:
        found = explanation_of(workspace, stream, file, by_spark, envelope=envelope)
    click.echo(explain_report.as_json(found) if as_json else explain_report.as_text(found))


@router.command()
@config_option
@region_option
@output_option
@workspace_option
@log_option
def audit(path: Path, region: str | None, *, as_json: bool, workspace_dir: Path | None) -> int:
    """Prove from the ledgers that every record of the topic went somewhere; name any that did not.

    For each output and partition: where it began, up to where it is done, and of what it read how
    much was written, filtered, dropped, quarantined; how far the topic is ahead. Offsets that held
    no record (compaction, transactions) are looked up in the topic again. Any gap
    (`missing: playback_raw-0 @ 10 to 12`), anything read twice, lost to retention or unaccounted
    for, a topic made anew or a damaged ledger ends the command with 1. Lag alone does not. The
    router may go on running meanwhile.

    For example: `router audit -c streams/playback.yaml -o json`
    """
    from headrace.log import configure_logging
    from router import audit_report, auditing

    configure_logging()
    workspace, stream = _loaded(path, workspace_dir, region)
    found = auditing.audit(workspace, stream)
    click.echo(audit_report.as_json(found) if as_json else audit_report.as_text(found))
    return FAILED if found.findings else 0


@router.group()
def quarantine() -> None:
    """Look at the bad records of a stream, and replay them once its configuration is mended."""


@quarantine.command("list")
@config_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="So many records, the newest ones, are shown one by one.",
)
@region_option
@output_option
@workspace_option
@log_option
def list_kept(
    path: Path, limit: int, region: str | None, *, as_json: bool, workspace_dir: Path | None
) -> None:
    """List the bad records of a stream: how many and why, then the newest one by one.

    Each with the place that it was read from, the stage at which it turned out to be bad, the
    reason, its time, its size and its first bytes.

    For example: `router quarantine list -c streams/playback.yaml --limit 5`
    """
    from headrace.log import configure_logging
    from router import quarantine_report
    from router.quarantine_list import listing

    configure_logging()
    workspace, stream = _loaded(path, workspace_dir, region)
    found = listing(workspace, stream, limit)
    click.echo(
        quarantine_report.list_json(found) if as_json else quarantine_report.list_text(found)
    )


@quarantine.command("replay")
@config_option
@click.option("--output", "outputs", multiple=True, help="Only to this output. [default: all]")
@click.option("--dry-run", is_flag=True, help="Say what would be sent; send and note nothing.")
@region_option
@format_option
@workspace_option
@log_option
def replay_kept(
    path: Path,
    outputs: tuple[str, ...],
    region: str | None,
    *,
    dry_run: bool,
    form: str,
    workspace_dir: Path | None,
) -> None:
    """Send the bad records that are good now, by the stream's present configuration.

    Each record goes to the outputs that it failed for: all of them where it could not be read, one
    where that output could not evaluate or write it. It carries the headers and the origin of the
    record that it was. What is still bad stays, and the next replay looks at it again; what was
    sent is not sent again. Ctrl-C ends after the records at hand.

    For example: `router quarantine replay -c streams/playback.yaml --dry-run`
    """
    from headrace.log import configure_logging
    from headrace.signals import Drain
    from router import quarantine_report
    from router.replay import Replay, Request
    from router.replay_progress import shown_progress
    from router.spark_given import evaluator

    configure_logging()
    workspace, stream = _loaded(path, workspace_dir, region)
    replay = Replay(workspace, stream, Request(outputs, dry_run))
    with (
        Drain() as drain,
        evaluator(workspace, stream) as by_spark,
        shown_progress() as progress,
    ):
        report = replay.run(by_spark, drain, progress)
    told = quarantine_report.replay_json if form == "json" else quarantine_report.replay_text
    click.echo(told(report))


def _loaded(
    path: Path, workspace_dir: Path | None, region: str | None
) -> tuple[Workspace, Effective]:
    from headrace.config.effective import effective
    from headrace.config.load import load_stream, load_workspace

    workspace = load_workspace(workspace_dir)
    return workspace, effective(load_stream(path, workspace), workspace, region)


def main() -> None:
    """Run `router` as a console script."""
    run(router, "router")
