"""`router`: runs a stream and reports on it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import (
    FAILED,
    format_option,
    log_option,
    output_option,
    run,
    with_workspace,
)
from headrace.cli.http_option import http_option
from headrace.cli.many_topics import (
    any_of,
    ask_each,
    has_failures,
    require_all,
    run_all,
    show_each,
    topic_option,
)
from headrace.cli.metrics_option import metrics_options, require_one_topic
from router.cli.options import config_option, region_option, stream_options, with_stream
from router.cli.quarantine import quarantine

if TYPE_CHECKING:
    from headrace.config.kind_files import CheckedFile
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.address import Address
    from headrace.metrics.at_end import MetricsAtEnd
    from router.audit.audit import StreamAudit


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def router() -> None:
    """Route the records of a Kafka topic to outputs: filter and project them, and lose none."""


@router.command()
@config_option
@click.option("--output", "outputs", multiple=True, help="Only this output. [default: all]")
@click.option("--region", help="Run this deployment (overrides in the file).")
@click.option("--once", is_flag=True, help="Route the records that are there now, then end.")
@click.option(
    "--begin-again",
    "begin_again",
    multiple=True,
    metavar="OUTPUT",
    help="Let this output, or `quarantine`, leave the topic that it has read for the one that the "
    "file names now, or for one that was re-created.",
)
@http_option()
@metrics_options
@format_option
@topic_option
@with_workspace
@log_option
def start(
    workspace: Workspace,
    path: Path,
    topic: str | None,
    region: str | None,
    *,
    outputs: tuple[str, ...],
    once: bool,
    begin_again: tuple[str, ...],
    http: Address | None,
    metrics: MetricsAtEnd,
    as_json: bool,
) -> None:
    """Run the jobs of a stream until Ctrl-C.

    Every output has its own position in the topic. With `isolation: output` it also has its own
    job: if one job fails, the others go on, and the failed job is restarted with growing pauses.
    Ctrl-C or SIGTERM lets the current batch finish. Records that were not read stay in Kafka, and
    the next start reads them. Rejected records go to the quarantine topic with the reason.

    Records and positions are committed together, in transactions of Kafka: consumers with
    `isolation.level=read_committed` read each record once, also after a crash. The positions are
    in the topic `headrace.<stream>.ledger` of the target cluster, so another host can go on. If a
    second router of the stream starts, it takes over and the first one ends; with
    `on_conflict: refuse` the second one does not start.

    Kafka shows the lag under the consumer groups `headrace.<stream>.<output>`. The ledger says
    what happened to every record; `router audit` checks it. With --http, Prometheus and probes can
    ask how it fares; with --metrics-file or --metrics-push, the metrics go there at the end.

    If the file is for many topics (`for_each`), all of their streams run, and new topics are read
    within seconds.
    """
    from headrace.config.kind_files import check_file
    from headrace.config.load import known_names, stream_of
    from headrace.config.many_topics import one_of
    from headrace.config.stream.effective import effective
    from headrace.errors import UsageError
    from headrace.http.board import Board
    from headrace.http.server import serving
    from headrace.lineage.declared import stream_job
    from headrace.lineage.reporting import reported, reporting
    from headrace.metrics.at_end import metrics_at_end
    from headrace.signals import Drain
    from headrace.spark import session
    from router.run import report
    from router.run.jobs import StreamRouter

    checked = check_file(path, known_names(workspace), "stream")
    if checked.template is not None and topic is None:
        if begin_again:
            raise UsageError("--begin-again is for one topic", "name it: --topic TOPIC")
        if not once:
            require_one_topic(metrics)
            run_all(workspace, path, region, outputs, http=http, as_json=as_json)
            return
        from router.run.many_topics import run_each_once

        with (
            Drain() as drain,
            serving(http, board := Board(f"router {path.stem}", drain)),
            metrics_at_end(metrics, "stream", path.stem, board.samples) as outcome,
            reporting(workspace, board) as lineage,
        ):
            answers = run_each_once(
                workspace, checked, region, outputs, board=board, lineage=lineage
            )
            outcome.has_failed = has_failures(answers)
        show_each(
            "streams",
            answers,
            lambda one: report.facts(*one),
            lambda one: report.as_text(*one),
            as_json=as_json,
        )
        require_all(answers)
        return
    stream = effective(stream_of(one_of(checked, topic, region)), workspace, region)
    name = stream.config.name
    job = partial(stream_job, stream, workspace, is_lasting=not once)
    with (
        Drain() as drain,
        serving(http, board := Board(f"router {name}", drain)),
        metrics_at_end(metrics, "stream", name, board.samples),
        reported(workspace, board, job),
    ):
        stream_router = StreamRouter(workspace, stream, outputs, begin_again)
        conf, check = stream_router.settings(), stream_router.prepare
        with session(workspace, f"router-{name}", conf, lasting=not once, meanwhile=check) as spark:
            counts = stream_router.run(spark, drain, once=once, board=board)
    click.echo(report.as_json(name, counts) if as_json else report.as_text(name, counts))


@router.command()
@config_option
@region_option
@output_option
@with_stream
def show(workspace: Workspace, stream: Effective, *, as_json: bool) -> None:
    """Show every setting of a stream, and where its value comes from.

    A value comes from the stream's file, from the deployment's overrides, or from the defaults;
    each is shown with its file and line. Secrets are shown as `***`. The command connects to no
    cluster.

    For example: `router show -c streams/playback.yaml --region eu-west-1`
    """
    from headrace.config import origins

    settings = origins.settings_of(stream, workspace)
    click.echo(origins.as_json(settings) if as_json else origins.as_text(settings))


@router.command()
@click.option(
    "--record",
    "file",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="A file with one record per line, or with one JSON object; - is stdin.",
)
@click.option(
    "--envelope",
    is_flag=True,
    help="Each line is an object with value (or value_base64), key, headers and timestamp.",
)
@click.option(
    "--spark", "with_spark", is_flag=True, help="Start Spark to evaluate Spark expressions."
)
@stream_options
def explain(
    workspace: Workspace,
    stream: Effective,
    *,
    file: Path,
    envelope: bool,
    with_spark: bool,
    as_json: bool,
) -> None:
    """Show what a stream would do with given records. Needs no broker, and writes nothing.

    For each output, it shows whether its expressions are compiled (headrace evaluates them in
    Python) or Spark expressions (only Spark evaluates them), and why.

    For each record, it shows the hygiene rule that the record breaks, and what then happens to it.
    If the record breaks none, it shows the record after the masks. For each output, it shows
    whether the filter passes the record, and the key, value and headers that would be written.

    For example: `echo '{"event_id": "1"}' | router explain -c streams/playback.yaml --record -`
    """
    from contextlib import nullcontext

    from router.explain import report
    from router.explain.explanation import explain as explain_records
    from router.explain.explanation import spark_evaluator
    from router.explain.given_records import read_given
    from router.plan.planner import Planner

    plan = Planner(workspace, stream).plan()
    given = list(read_given(file, plan.source, envelope=envelope))
    with spark_evaluator(workspace, stream) if with_spark else nullcontext() as by_spark:
        found = explain_records(plan, given, by_spark)
    click.echo(report.as_json(found) if as_json else report.as_text(found))


@router.command()
@config_option
@region_option
@output_option
@topic_option
@with_workspace
@log_option
def audit(
    workspace: Workspace, path: Path, region: str | None, topic: str | None, *, as_json: bool
) -> int:
    """Check in the ledgers what happened to every record of the topic, and report any gap.

    For each output and partition, it shows the first offset and the next offset; how many records
    were read, written, filtered, dropped and quarantined; and the lag. It looks up offsets without
    a record (compaction, transactions) in the topic again.

    The exit code is 1 if there is a gap (`missing: playback_raw-0 @ 10 to 12`), if a record was
    read twice, lost to retention or is unaccounted for, if the topic was re-created, or if the
    ledger is damaged. Lag alone is not an error. The router may run at the same time.

    If the file is for many topics (`for_each`), it checks the streams of all of them.

    For example: `router audit -c streams/playback.yaml -o json`
    """
    from headrace.config.kind_files import check_file
    from headrace.config.load import known_names, stream_of
    from headrace.config.stream.effective import effective
    from headrace.kafka.many_topics import files_now
    from router.audit import report
    from router.audit.audit import audit

    def ask(one: CheckedFile) -> StreamAudit:
        return audit(workspace, effective(stream_of(one), workspace, region))

    checked = check_file(path, known_names(workspace), "stream")
    files = files_now(checked, topic, workspace, region)
    if checked.template is None or topic is not None:
        found = ask(files[0])
        click.echo(report.as_json(found) if as_json else report.as_text(found))
        return FAILED if found.findings else 0
    answers = list(ask_each(files, ask))
    code = show_each("streams", answers, report.facts, report.as_text, as_json=as_json)
    return code or any_of(answers, lambda one: bool(one.findings))


router.add_command(quarantine)


def main() -> None:
    """Run `router` as a console script."""
    run(router, "router")
