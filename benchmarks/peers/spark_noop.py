"""Streams over Iceberg tables into nowhere: Spark's own, and the replay's, by the same query."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers.spark_replay import FILES_PER_BATCH, SPLIT_BYTES
from benchmarks.peers.spark_script import run, run_as_ours, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


def replay(spark: SparkSession, settings: dict[str, Any]) -> None:
    """Read the tables to their end, several as a union; print how many rows that were."""
    streams = _replayed(spark, settings) if settings["order"] else _streamed(spark, settings)
    query = (
        _together(streams)
        .writeStream.format("noop")
        .option("checkpointLocation", settings["checkpoint"])
        .start()
    )
    query.processAllAvailable()
    query.stop()
    batches = query.recentProgress
    print(json.dumps({"rows": sum(one.numInputRows for one in batches), "batches": len(batches)}))


def _streamed(spark: SparkSession, settings: dict[str, Any]) -> list[DataFrame]:
    reader = (
        spark.readStream.format("iceberg")
        .option("streaming-max-files-per-micro-batch", FILES_PER_BATCH)
        .option("split-size", SPLIT_BYTES)
    )
    return [_chosen(reader.load(table), settings) for table in settings["tables"]]


def _replayed(spark: SparkSession, settings: dict[str, Any]) -> list[DataFrame]:
    # Not in the time of Spark's own stream.
    from backfill.streams import Replay  # noqa: PLC0415

    made = Replay(
        settings["tables"],
        settings["start"],
        settings["end"],
        order=settings["order"],
        max_misalignment=settings["threshold"],
        workspace=Path(settings["workspace"]),
    )
    columns = dict.fromkeys(settings["tables"], settings["columns"])
    streams = made.streams(spark, settings["run"], columns=columns)
    chosen = [_chosen(stream, settings) for stream in streams.values()]
    # As for an application: what its query does not use is not read.
    made.read_no_more_than(_together(chosen), settings["run"])
    return chosen


def _chosen(frame: DataFrame, settings: dict[str, Any]) -> DataFrame:
    return frame.select(*(settings["columns"] or ["*"]))


def _together(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)


if __name__ == "__main__":
    (run_as_ours if told()["order"] else run)(replay)
