"""A plain PySpark job that filters and projects one topic into another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from benchmarks.peers.spark_lake_writer import EVENT
from benchmarks.peers.spark_script import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def route(spark: SparkSession, settings: dict[str, Any]) -> None:
    """Route what is in the topic, then end."""
    kafka = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings["bootstrap_servers"])
        .option("subscribe", settings["topic"])
        .option("startingOffsets", "earliest")
        .load()
    )
    events = kafka.select(F.from_json(F.col("value").cast("string"), EVENT).alias("e")).select(
        "e.*"
    )
    starts = events.where("event_type = 'start'").withColumn("country", F.upper("country"))
    value = F.to_json(F.struct("event_id", "user_id", "title_id", "event_ts", "country"))
    query = (
        starts.select(F.col("user_id").alias("key"), value.alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", settings["bootstrap_servers"])
        .option("kafka.acks", "all")
        .option("kafka.compression.type", "lz4")
        .option("kafka.linger.ms", "20")
        .option("kafka.batch.size", str(256 * 1024))
        .option("topic", settings["target"])
        .option("checkpointLocation", settings["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    run(route)
