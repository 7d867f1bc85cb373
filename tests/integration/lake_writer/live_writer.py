"""A lake writer under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.load import load_lake_table
from lake_writer.writer import LakeWriter
from tests.integration.live import Live, until_drained

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.pipelines import Pipelines


def live(pipelines: Pipelines, spark: SparkSession, path: Path) -> AbstractContextManager[Live]:
    """Land a topic until the end of the block, then drain."""
    writer = LakeWriter(pipelines.workspace, load_lake_table(path, pipelines.workspace))
    writer.prepare()
    return until_drained(lambda drain: writer.run(spark, drain, once=False))
