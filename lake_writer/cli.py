"""`lake-writer`: lands topics in the lake."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import rich_click as click

from headrace.cli.command import FAILED, command_options, file_option, run, show
from headrace.cli.http_option import http_option
from headrace.cli.many_topics import (
    any_of,
    ask_each,
    has_failures,
    run_all,
    show_each,
    topic_option,
)
from headrace.cli.metrics_option import metrics_options, require_one_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile
    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from headrace.errors import HeadraceError
    from headrace.http.address import Address
    from headrace.metrics.at_end import MetricsAtEnd
    from lake_writer.findings import Findings
    from lake_writer.writer import LakeWriter


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command of a table, which is called with its workspace and file."""

    @wraps(command)
    def load(*, path: Path, workspace: Workspace, **options: object) -> object:
        from headrace.config.kind_files import check_file
        from headrace.config.load import known_names

        checked = check_file(path, known_names(workspace), "lake_table")
        return command(workspace, checked, **options)

    options = topic_option(command_options(load))
    return file_option("table's file (kind: lake_table)")(options)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def lake_writer() -> None:
    """Land a Kafka topic in an Iceberg table: its columns, and `__metadata__` as the last one."""


@lake_writer.command()
@click.option("--once", is_flag=True, help="Land the records that are there now, then end.")
@http_option()
@metrics_options
@table_options
def start(
    workspace: Workspace,
    checked: CheckedFile,
    *,
    topic: str | None,
    once: bool,
    http: Address | None,
    metrics: MetricsAtEnd,
    as_json: bool,
) -> int:
    """Land a topic until Ctrl-C.

    If the table is missing, the writer creates it from the schema. While the writer runs, the
    table follows the schema as far as schema_evolution allows. Every commit stores the offsets at
    its end, so a batch that is repeated after a crash lands once. If a system does not answer, the
    writer retries with growing pauses. Ctrl-C or SIGTERM lets the current batch finish; a second
    Ctrl-C ends the command at once. With --http, Prometheus and probes can ask how it fares;
    with --metrics-file or --metrics-push, the metrics go there at the end.

    If the file is for many topics (`for_each`), all of them land, each in a table of its own, and
    new topics are read within seconds. With `--once`, one lands after the other.
    """
    from headrace.config.load import lake_table_of
    from headrace.config.many_topics import one_of
    from headrace.http.board import Board
    from headrace.http.server import serving
    from headrace.lineage.declared import table_job
    from headrace.lineage.reporting import reported
    from headrace.metrics.at_end import metrics_at_end
    from headrace.signals import Drain
    from headrace.spark import session
    from lake_writer.spark_settings import writer_settings

    if checked.template is not None and topic is None:
        if once:
            return _start_each_once(workspace, checked, http, metrics, as_json=as_json)
        require_one_topic(metrics)
        run_all(workspace, checked.document.path, None, http=http, as_json=as_json)
        return 0
    table = lake_table_of(one_of(checked, topic))
    name = f"lake-writer-{table.config.name}"
    prepared: list[LakeWriter] = []

    def prepare() -> None:
        # What it imports takes as long as a JVM's start.
        from lake_writer.writer import LakeWriter

        prepared.append(LakeWriter(workspace, table))
        prepared[0].prepare()

    with (
        Drain() as drain,
        serving(http, board := Board(name, drain)),
        metrics_at_end(metrics, "lake_table", table.config.name, board.samples),
        reported(workspace, board, partial(table_job, table, is_lasting=not once)),
        session(workspace, name, writer_settings(), lasting=not once, meanwhile=prepare) as spark,
    ):
        landed = prepared[0].run(spark, drain, once=once, show=board.show)
    _show(table, asdict(landed), as_json=as_json)
    return 0


def _start_each_once(
    workspace: Workspace,
    checked: CheckedFile,
    http: Address | None,
    metrics: MetricsAtEnd,
    *,
    as_json: bool,
) -> int:
    """Land what the topics have now, one after the other."""
    from headrace.config.load import lake_table_of
    from headrace.http.board import Board
    from headrace.http.many_facts import ManyFacts
    from headrace.http.server import serving
    from headrace.kafka.many_topics import files_now
    from headrace.lineage.declared import table_job
    from headrace.lineage.reporting import reporting, told_of
    from headrace.metrics.at_end import metrics_at_end
    from headrace.signals import Drain
    from headrace.spark import session
    from lake_writer.spark_settings import writer_settings
    from lake_writer.writer import LakeWriter

    files = files_now(checked, None, workspace)
    stem = checked.document.path.stem
    name = f"lake-writer-{stem}"
    with (
        Drain() as drain,
        serving(http, board := Board(name, drain)),
        metrics_at_end(metrics, "lake_table", stem, board.samples) as outcome,
        reporting(workspace, board) as lineage,
        session(workspace, name, writer_settings()) as spark,
    ):
        board.show(facts := ManyFacts())

        def land(one: CheckedFile) -> tuple[str, dict[str, Any]]:
            table = lake_table_of(one)
            with told_of(lineage, partial(table_job, table, is_lasting=False)):
                writer = LakeWriter(workspace, table)
                writer.prepare()
                landed = writer.run(spark, drain, once=True, show=facts.add)
            return table.config.table.identifier, asdict(landed)

        answers = list(ask_each(files, land, drain))
        outcome.has_failed = has_failures(answers)
    return _show_each(answers, as_json=as_json)


@lake_writer.command()
@table_options
def audit(workspace: Workspace, checked: CheckedFile, *, topic: str | None, as_json: bool) -> int:
    """Compare the table with its topic, offset by offset.

    It reports offsets that are missing, offsets that are there twice, and up to where the table is
    complete. An offset is not missing if the topic has no record there (compaction, ends of
    transactions), or if the record was rejected. The exit code is 1 if anything is wrong. The
    writer may run at the same time. The command needs no JVM.

    If the file is for many topics (`for_each`), it compares the tables of all of them.
    """
    from headrace.config.load import lake_table_of
    from headrace.kafka.many_topics import files_now
    from lake_writer.audit import audit as compare

    def ask(one: CheckedFile) -> Findings:
        return compare(workspace, lake_table_of(one))

    files = files_now(checked, topic, workspace)
    if checked.template is None or topic is not None:
        found = ask(files[0])
        show(found.to_json(), found.to_text(), as_json=as_json)
        return 0 if found.ok else FAILED
    answers = list(ask_each(files, ask))
    code = show_each(
        "tables", answers, lambda one: one.to_json(), lambda one: one.to_text(), as_json=as_json
    )
    return code or any_of(answers, lambda one: not one.ok)


@lake_writer.command()
@table_options
def maintain(
    workspace: Workspace, checked: CheckedFile, *, topic: str | None, as_json: bool
) -> int:
    """Compact the table, expire old snapshots, and remove orphan files.

    Past hours with many small files are compacted, hour by hour and sorted by ingestion time, so
    that replays read less. Snapshots older than the table's history.expire.max-snapshot-age-ms
    (5 days) expire; tagged snapshots stay, and running replays tag theirs. Files that no snapshot
    refers to are removed when they are three days old. The writer and replays may run at the same
    time. Ctrl-C ends the command after the current step.
    """
    from headrace.config.load import lake_table_of
    from headrace.kafka.many_topics import files_now
    from headrace.signals import Drain
    from headrace.spark import session
    from lake_writer.maintenance import Maintenance

    files = files_now(checked, topic, workspace)
    is_one = checked.template is None or topic is not None
    # What is wrong with one is said before Spark starts.
    name = lake_table_of(files[0]).config.name if is_one else checked.document.path.stem
    with Drain() as drain, session(workspace, f"maintain-{name}") as spark:

        def work(one: CheckedFile) -> tuple[str, dict[str, Any]]:
            table = lake_table_of(one)
            done = Maintenance(workspace, table).run(spark, drain)
            return table.config.table.identifier, asdict(done)

        if is_one:
            name, done = work(files[0])
        else:
            answers = list(ask_each(files, work, drain))
    if not is_one:
        return _show_each(answers, as_json=as_json)
    show({"table": name, **done}, _text(name, done), as_json=as_json)
    return 0


def _show(table: LoadedLakeTable, done: Mapping[str, object], *, as_json: bool) -> None:
    name = table.config.table.identifier
    show({"table": name, **done}, _text(name, done), as_json=as_json)


def _show_each(
    answers: Sequence[tuple[str, tuple[str, dict[str, Any]] | HeadraceError]], *, as_json: bool
) -> int:
    return show_each(
        "tables",
        answers,
        lambda one: {"table": one[0], **one[1]},
        lambda one: _text(*one),
        as_json=as_json,
    )


def _text(name: str, done: Mapping[str, object]) -> str:
    counts = {what: count for what, count in done.items() if isinstance(count, int)}
    shown = ", ".join(f"{what.replace('_', ' ')} {count:,}" for what, count in counts.items())
    lines = [f"table {name}", f"  {shown}"]
    left = done.get("left")
    if isinstance(left, list | tuple) and left:
        other = "left for the next run, because other jobs committed first each time"
        lines.append(f"  {other}: {', '.join(map(str, left))}")
    return "\n".join(lines)


def main() -> None:
    """Run `lake-writer` as a console script."""
    run(lake_writer, "lake-writer")
