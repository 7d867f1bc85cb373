"""Streams over an Iceberg table into nowhere: Spark's own, and the replay's, by the same query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill.streams import Replay
from benchmarks.peers.spark_replay import FILES_PER_BATCH, SPLIT_BYTES
from benchmarks.peers.spark_script import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def replay(spark: SparkSession, settings: dict[str, Any]) -> None:
    """Read the table to its end; print how many rows that were."""
    rows = _replayed(spark, settings) if settings["order"] else _streamed(spark, settings)
    query = (
        rows.writeStream.format("noop").option("checkpointLocation", settings["checkpoint"]).start()
    )
    query.processAllAvailable()
    query.stop()
    print(json.dumps({"rows": sum(one.numInputRows for one in query.recentProgress)}))


def _streamed(spark: SparkSession, settings: dict[str, Any]) -> DataFrame:
    rows = (
        spark.readStream.format("iceberg")
        .option("streaming-max-files-per-micro-batch", FILES_PER_BATCH)
        .option("split-size", SPLIT_BYTES)
        .load(settings["table"])
    )
    return rows.select(*settings["columns"], "__metadata__") if settings["columns"] else rows


def _replayed(spark: SparkSession, settings: dict[str, Any]) -> DataFrame:
    table = settings["table"]
    made = Replay(
        [table],
        settings["start"],
        settings["end"],
        order=settings["order"],
        workspace=Path(settings["workspace"]),
    )
    return made.streams(spark, settings["run"], columns={table: settings["columns"]})[table]


if __name__ == "__main__":
    run(replay)
