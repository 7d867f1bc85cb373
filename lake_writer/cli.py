"""`lake-writer`: lands topics in the lake."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import rich_click as click

from headrace.cli.command import FAILED, log_option, output_option, run, workspace_option

config_option = click.option(
    "-c",
    "--config",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The table's file (kind: lake_table).",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def lake_writer() -> None:
    """Land a Kafka topic in an Iceberg table, with `__metadata__` beside the columns."""


@lake_writer.command()
@config_option
@click.option("--once", is_flag=True, help="Land what is there now, then end.")
@output_option
@workspace_option
@log_option
def start(path: Path, *, once: bool, as_json: bool, workspace_dir: Path | None) -> None:
    """Land a topic until Ctrl-C.

    The table is made from the schema where it is missing, and follows it while the writer runs
    as far as schema_evolution allows. Every commit carries the offsets that it ends at, so that a
    batch repeated after a crash lands once. What does not answer for a while is tried again, later
    each time. Ctrl-C or SIGTERM lets the batch at hand end; a second Ctrl-C insists.
    """
    from headrace.config.load import load_lake_table, load_workspace
    from headrace.log import configure_logging
    from headrace.signals import Drain
    from headrace.spark import session
    from lake_writer.writer import LakeWriter

    configure_logging()
    workspace = load_workspace(workspace_dir)
    table = load_lake_table(path, workspace)
    with Drain() as drain:
        writer = LakeWriter(workspace, table)
        writer.prepare()
        with session(workspace, f"lake-writer-{table.config.name}", lasting=not once) as spark:
            landed = writer.run(spark, drain, once=once)
    name = table.config.table.identifier
    if as_json:
        click.echo(json.dumps({"table": name, **asdict(landed)}))
    else:
        counts = ", ".join(f"{what} {count:,}" for what, count in asdict(landed).items())
        click.echo(f"table {name}\n  {counts}")


@lake_writer.command()
@config_option
@output_option
@workspace_option
@log_option
def audit(path: Path, *, as_json: bool, workspace_dir: Path | None) -> int:
    """Compare the table with its topic, offset by offset.

    Says what is missing, what is there twice, and up to where the table is complete. An offset
    is not missing where the topic has no record (compaction, ends of transactions), or where the
    record was turned away as a bad one. Exit code 1 when anything is missing or doubled. Safe
    beside a running writer; needs no JVM.
    """
    from headrace.config.load import load_lake_table, load_workspace
    from headrace.log import configure_logging
    from lake_writer.audit import audit as compare

    configure_logging()
    workspace = load_workspace(workspace_dir)
    found = compare(workspace, load_lake_table(path, workspace))
    click.echo(json.dumps(found.to_json()) if as_json else found.to_text())
    return 0 if found.ok else FAILED


@lake_writer.command()
@config_option
@output_option
@workspace_option
@log_option
def maintain(path: Path, *, as_json: bool, workspace_dir: Path | None) -> None:
    """Compact the table, shorten its history, remove what nobody refers to.

    Hours that are over and lie in many small files are compacted, each for itself and sorted by
    ingestion time, so that replays read less. Snapshots older than the table's
    history.expire.max-snapshot-age-ms (5 days) go, but those under a tag stay: replays hold
    theirs that way. Files that no snapshot refers to are removed when they are three days old.
    Safe beside a running writer and a running replay. Ctrl-C ends it after the step at hand.
    """
    from headrace.config.load import load_lake_table, load_workspace
    from headrace.log import configure_logging
    from headrace.signals import Drain
    from headrace.spark import session
    from lake_writer.maintenance import Maintenance

    configure_logging()
    workspace = load_workspace(workspace_dir)
    table = load_lake_table(path, workspace)
    maintenance = Maintenance(workspace, table)
    with Drain() as drain, session(workspace, f"maintain-{table.config.name}") as spark:
        done = asdict(maintenance.run(spark, drain))
    name = table.config.table.identifier
    if as_json:
        click.echo(json.dumps({"table": name, **done}))
    else:
        left = done.pop("left")
        counts = (f"{what.replace('_', ' ')} {count:,}" for what, count in done.items())
        click.echo(f"table {name}\n  {', '.join(counts)}")
        if left:
            click.echo(f"  left for the next time, others were always first: {', '.join(left)}")


def main() -> None:
    """Run `lake-writer` as a console script."""
    run(lake_writer, "lake-writer")
