"""Impressions joined with the plays that followed: as a batch, and as streams over the past."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import col, expr

from backfill.streams import Replay
from benchmarks.peers.spark_replay import FILES_PER_BATCH, SPLIT_BYTES
from benchmarks.peers.spark_script import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def join(spark: SparkSession, settings: dict[str, Any]) -> None:
    """Join to the end; print how many matches there are, what was dropped, and the most state."""
    begun = time.perf_counter()
    found = _batch(spark, settings) if settings["how"] == "batch" else _stream(spark, settings)
    print(json.dumps({**found, "work_s": time.perf_counter() - begun}))


def _batch(spark: SparkSession, settings: dict[str, Any]) -> dict[str, int]:
    sides = {name: spark.table(name) for name in settings["tables"]}
    return {"matches": _joined(sides, settings).count()}


def _stream(spark: SparkSession, settings: dict[str, Any]) -> dict[str, int]:
    sides = _replayed(spark, settings) if settings["how"] == "aligned" else _own(spark, settings)
    matches: list[int] = []
    query = (
        _joined(sides, settings)
        .writeStream.foreachBatch(lambda batch, _: matches.append(batch.count()))
        .option("checkpointLocation", settings["checkpoint"])
        .start()
    )
    query.processAllAvailable()
    query.stop()
    states = [json.loads(one.json)["stateOperators"] for one in query.recentProgress]
    return {
        "matches": sum(matches),
        "dropped": sum(one["numRowsDroppedByWatermark"] for batch in states for one in batch),
        "peak_state_rows": max(sum(one["numRowsTotal"] for one in batch) for batch in states),
    }


def _joined(sides: dict[str, DataFrame], settings: dict[str, Any]) -> DataFrame:
    impressions, plays = (
        sides[name].withWatermark("at", settings["delay"]) for name in settings["tables"]
    )
    within = f"played_at BETWEEN shown_at AND shown_at + INTERVAL {settings['minutes']} MINUTES"
    return impressions.select("id", "user_id", col("at").alias("shown_at")).join(
        plays.select("impression_id", col("at").alias("played_at")),
        expr(f"id = impression_id AND {within}"),
    )


def _own(spark: SparkSession, settings: dict[str, Any]) -> dict[str, DataFrame]:
    reader = (
        spark.readStream.format("iceberg")
        .option("streaming-max-files-per-micro-batch", FILES_PER_BATCH)
        .option("split-size", SPLIT_BYTES)
    )
    return {name: reader.load(name) for name in settings["tables"]}


def _replayed(spark: SparkSession, settings: dict[str, Any]) -> dict[str, DataFrame]:
    made = Replay(
        settings["tables"],
        settings["start"],
        settings["end"],
        max_misalignment=settings["threshold"],
        workspace=Path(settings["workspace"]),
    )
    return made.streams(spark, settings["run"])


if __name__ == "__main__":
    run(join)
