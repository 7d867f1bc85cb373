"""What the PySpark jobs share: a session with given settings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable

    Job = Callable[[SparkSession, dict[str, Any]], None]


def run(job: Job) -> None:
    """Run a job in a plain session of its own."""
    settings = told()
    builder = SparkSession.builder
    for name, value in settings["spark"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        job(spark, settings)
    finally:
        spark.stop()


def run_as_ours(job: Job) -> None:
    """Run a job in a session as a command of headrace has it."""
    # Not in the time of those who have nothing to do with it.
    from headrace.config.load import load_workspace  # noqa: PLC0415
    from headrace.spark import session  # noqa: PLC0415

    settings = told()
    workspace = load_workspace(Path(settings["workspace"]))
    with session(workspace, settings["run"], settings["spark"]) as spark:
        job(spark, settings)


def told() -> dict[str, Any]:
    """Return what the job was told."""
    found: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    return found
