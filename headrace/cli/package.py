"""`headrace package`: the Python environment as an archive for a cluster's machines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from headrace.cli.command import log_option, output_option, show

SETTINGS = """\
in headrace.yaml:
  spark:
    conf:
      spark.archives: {path}#environment
      spark.pyspark.python: ./environment/bin/python"""


@click.command()
@click.option(
    "-f",
    "--file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default="environment.tar.gz",
    show_default=True,
    help="The archive to write.",
)
@click.option(
    "--minimal",
    is_flag=True,
    help="Pack headrace and what it requires, and nothing else that is installed.",
)
@output_option
@log_option
def package(path: Path, *, minimal: bool, as_json: bool) -> None:
    """Pack this Python environment for machines of a Spark cluster that do not have it.

    Spark takes the archive to its executors, and they run the Python in it. The machines need a
    Python of the same version (without packages), the same system and the same kind of processor.
    The archive has no JVM's jars: Spark takes those along by itself. docs/clusters.md explains it.
    """
    from headrace.jvm.environment import pack, python_version

    packed = pack(path, minimal=minimal)
    facts = {"file": str(path), "python": python_version(), **asdict(packed)}
    size = f"{packed.bytes / 2**20:,.0f} MiB"
    text = f"{path}: {packed.distributions} packages, {size}, for Python {python_version()}\n"
    show(facts, text + SETTINGS.format(path=path), as_json=as_json)
