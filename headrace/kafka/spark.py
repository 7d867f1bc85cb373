"""Kafka as Spark reads it: the options, made from a cluster of the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.kafka.settings import java_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.workspace import Cluster


def spark_options(cluster: Cluster) -> dict[str, str]:
    """Return a cluster's settings as options of Spark's Kafka connector."""
    settings = java_settings(cluster.client_properties())
    return {f"kafka.{name}": value for name, value in settings.items()}


def read_topics(
    spark: SparkSession,
    cluster: Cluster,
    topics: Sequence[str],
    starting_offsets: str = "earliest",
    **more: str,
) -> DataFrame:
    """Return a stream over topics with Kafka's own columns, headers included.

    `more` are options of Spark's, by their own names.
    """
    reader = (
        spark.readStream.format("kafka")
        .options(**spark_options(cluster))
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", starting_offsets)
        .option("includeHeaders", "true")
        # A transaction that was given up is nobody's record.
        .option("kafka.isolation.level", "read_committed")
        # Records that retention took before we read them are a loss, and are said to be one.
        .option("failOnDataLoss", "true")
    )
    return reader.options(**more).load()
