"""`lake-writer`: lands topics in the lake."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from headrace.cli.command import (
    FAILED,
    file_option,
    log_option,
    output_option,
    run,
    workspace_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from lake_writer.writer import LakeWriter

F = TypeVar("F", bound="Callable[..., Any]")


def table_options(function: F) -> F:
    """Add the options of every command of a table."""
    config_option = file_option("table's file (kind: lake_table)")
    return config_option(output_option(workspace_option(log_option(function))))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def lake_writer() -> None:
    """Land a Kafka topic in an Iceberg table: its columns, and `__metadata__` as the last one."""


@lake_writer.command()
@click.option("--once", is_flag=True, help="Land the records that are there now, then end.")
@table_options
def start(path: Path, *, once: bool, as_json: bool, workspace_dir: Path | None) -> None:
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

    workspace, table = _loaded(path, workspace_dir)
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
def audit(path: Path, *, as_json: bool, workspace_dir: Path | None) -> int:
    """Compare the table with its topic, offset by offset.

    It reports offsets that are missing, offsets that are there twice, and up to where the table is
    complete. An offset is not missing if the topic has no record there (compaction, ends of
    transactions), or if the record was rejected. The exit code is 1 if anything is wrong. The
    writer may run at the same time. The command needs no JVM.
    """
    from lake_writer.audit import audit as compare

    found = compare(*_loaded(path, workspace_dir))
    click.echo(json.dumps(found.to_json()) if as_json else found.to_text())
    return 0 if found.ok else FAILED


@lake_writer.command()
@table_options
def maintain(path: Path, *, as_json: bool, workspace_dir: Path | None) -> None:
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

    workspace, table = _loaded(path, workspace_dir)
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
    if as_json:
        click.echo(json.dumps({"table": name, **done}))
    else:
        counts = {what: count for what, count in done.items() if isinstance(count, int)}
        shown = ", ".join(f"{what.replace('_', ' ')} {count:,}" for what, count in counts.items())
        click.echo(f"table {name}\n  {shown}")


def _loaded(path: Path, workspace_dir: Path | None) -> tuple[Workspace, LoadedLakeTable]:
    from headrace.config.load import load_lake_table, load_workspace

    workspace = load_workspace(workspace_dir)
    return workspace, load_lake_table(path, workspace)


def main() -> None:
    """Run `lake-writer` as a console script."""
    run(lake_writer, "lake-writer")
