"""A plain PySpark job that lands one topic in an Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from benchmarks.peers.spark_script import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENT = (
    "event_id STRING, event_ts TIMESTAMP, event_type STRING, user_id STRING, title_id BIGINT,"
    " session_id STRING, device STRING, country STRING, position_ms BIGINT"
)
METADATA = (
    "__metadata__ STRUCT<kafka_ingestion_ts: TIMESTAMP, topic: STRING, partition: INT,"
    " offset: BIGINT, region: STRING>"
)


def land(spark: SparkSession, settings: dict[str, Any]) -> None:
    """Land what is in the topic, then end."""
    table = settings["table"]
    properties = ", ".join(f"'{key}'='{value}'" for key, value in settings["properties"].items())
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    spark.sql(
        f"CREATE TABLE {table} ({EVENT}, {METADATA}) USING iceberg TBLPROPERTIES ({properties})"
    )
    kafka = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings["bootstrap_servers"])
        .option("subscribe", settings["topic"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings["rows_per_batch"])
        .load()
    )
    metadata = F.struct(
        F.col("timestamp").alias("kafka_ingestion_ts"),
        "topic",
        "partition",
        "offset",
        F.lit(None).cast("string").alias("region"),
    )
    event = F.from_json(F.col("value").cast("string"), EVENT)
    rows = kafka.select(event.alias("event"), metadata.alias("__metadata__"))
    query = (
        rows.select("event.*", "__metadata__")
        .writeStream.format("iceberg")
        .outputMode("append")
        .option("checkpointLocation", settings["checkpoint"])
        .trigger(availableNow=True)
        .toTable(table)
    )
    query.awaitTermination()


if __name__ == "__main__":
    run(land)
