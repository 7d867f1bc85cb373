"""Spark's own stream over an Iceberg table, written as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.spark_script import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# With the default size of a split, 16 small files become one task, and the other cores idle.
SPLIT_BYTES = 32 * 2**20
FILES_PER_BATCH = 16


def replay(spark: SparkSession, settings: dict[str, Any]) -> None:
    """Read the table from its first snapshot to its last, then end."""
    rows = (
        spark.readStream.format("iceberg")
        .option("streaming-max-files-per-micro-batch", FILES_PER_BATCH)
        .option("split-size", SPLIT_BYTES)
        .load(settings["table"])
    )
    query = (
        rows.writeStream.format("json")
        .option("path", settings["target"])
        .option("checkpointLocation", settings["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    run(replay)
