"""`lake-writer`: lands topics in the lake."""

from __future__ import annotations

from dataclasses import asdict
from functools import wraps
from typing import TYPE_CHECKING, Any

import rich_click as click

from headrace.cli.command import FAILED, command_options, file_option, run, show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from lake_writer.writer import LakeWriter


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command of a table, which is called with its workspace and the table."""

    @wraps(command)
    def load(*, path: Path, workspace: Workspace, **options: object) -> object:
        from headrace.config.load import load_lake_table

        return command(workspace, load_lake_table(path, workspace), **options)

    return file_option("table's file (kind: lake_table)")(command_options(load))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def lake_writer() -> None:
    """Land a Kafka topic in an Iceberg table: its columns, and `__metadata__` as the last one."""


@lake_writer.command()
@click.option("--once", is_flag=True, help="Land the records that are there now, then end.")
@table_options
def start(workspace: Workspace, table: LoadedLakeTable, *, once: bool, as_json: bool) -> None:
    """Land a topic until Ctrl-C.

    If the table is missing, the writer creates it from the schema. While the writer runs, the
    table follows the schema as far as schema_evolution allows. Every commit stores the offsets at
    its end, so a batch that is repeated after a crash lands once. If a system does not answer, the
    writer retries with growing pauses. Ctrl-C or SIGTERM lets the current batch finish; a second
    Ctrl-C ends the command at once.
    """
    from headrace.signals import Drain
    from headrace.spark import session
    from lake_writer.spark_settings import writer_settings

    name = f"lake-writer-{table.config.name}"
    prepared: list[LakeWriter] = []

    def prepare() -> None:
        # What it imports takes as long as a JVM's start.
        from lake_writer.writer import LakeWriter

        prepared.append(LakeWriter(workspace, table))
        prepared[0].prepare()

    with (
        Drain() as drain,
        session(workspace, name, writer_settings(), lasting=not once, meanwhile=prepare) as spark,
    ):
        landed = prepared[0].run(spark, drain, once=once)
    _show(table, asdict(landed), as_json=as_json)


@lake_writer.command()
@table_options
def audit(workspace: Workspace, table: LoadedLakeTable, *, as_json: bool) -> int:
    """Compare the table with its topic, offset by offset.

    It reports offsets that are missing, offsets that are there twice, and up to where the table is
    complete. An offset is not missing if the topic has no record there (compaction, ends of
    transactions), or if the record was rejected. The exit code is 1 if anything is wrong. The
    writer may run at the same time. The command needs no JVM.
    """
    from lake_writer.audit import audit as compare

    found = compare(workspace, table)
    show(found.to_json(), found.to_text(), as_json=as_json)
    return 0 if found.ok else FAILED


@lake_writer.command()
@table_options
def maintain(workspace: Workspace, table: LoadedLakeTable, *, as_json: bool) -> None:
    """Compact the table, expire old snapshots, and remove orphan files.

    Past hours with many small files are compacted, hour by hour and sorted by ingestion time, so
    that replays read less. Snapshots older than the table's history.expire.max-snapshot-age-ms
    (5 days) expire; tagged snapshots stay, and running replays tag theirs. Files that no snapshot
    refers to are removed when they are three days old. The writer and replays may run at the same
    time. Ctrl-C ends the command after the current step.
    """
    from headrace.signals import Drain
    from headrace.spark import session
    from lake_writer.maintenance import Maintenance

    maintenance = Maintenance(workspace, table)
    with Drain() as drain, session(workspace, f"maintain-{table.config.name}") as spark:
        done = maintenance.run(spark, drain)
    _show(table, asdict(done), as_json=as_json)
    if done.left and not as_json:
        click.echo(
            "  left for the next run, because other jobs committed first each time: "
            f"{', '.join(done.left)}"
        )


def _show(table: LoadedLakeTable, done: Mapping[str, object], *, as_json: bool) -> None:
    name = table.config.table.identifier
    counts = {what: count for what, count in done.items() if isinstance(count, int)}
    shown = ", ".join(f"{what.replace('_', ' ')} {count:,}" for what, count in counts.items())
    show({"table": name, **done}, f"table {name}\n  {shown}", as_json=as_json)


def main() -> None:
    """Run `lake-writer` as a console script."""
    run(lake_writer, "lake-writer")
