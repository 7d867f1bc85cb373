"""What the plain PySpark jobs share: a session with given settings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable


def run(job: Callable[[SparkSession, dict[str, Any]], None]) -> None:
    """Run a job in a session of its own."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    builder = SparkSession.builder
    for name, value in settings["spark"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        job(spark, settings)
    finally:
        spark.stop()
