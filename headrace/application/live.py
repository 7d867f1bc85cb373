"""A source of an application, live: topics, decoded as every stage decodes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.formats.decode import ERROR, RAW, decode
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.spark import read_topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.app import KafkaTopics
    from headrace.config.workspace import Workspace
    from headrace.schema.model import Record


def live_stream(
    spark: SparkSession, workspace: Workspace, source: KafkaTopics, schema: Record | None
) -> DataFrame:
    """Return the records of the topics; one that is none of the schema's ends the query."""
    cluster = workspace.cluster(source.cluster)
    topics = [source.topics] if isinstance(source.topics, str) else list(source.topics)
    for topic in topics:
        KafkaCluster(cluster).require_topic(topic)
    kafka = read_topics(spark, cluster, topics, source.starting_offsets)
    decoded = decode(kafka, schema, source.format, cluster.region)
    # An application has no quarantine: the router keeps what is bad out of its topics.
    place = F.concat_ws("-", f"{RAW}.topic", F.col(f"{RAW}.partition").cast("string"))
    offset = F.col(f"{RAW}.offset").cast("string")
    refusal = F.concat(F.lit("bad record "), place, F.lit(" @ "), offset, F.lit(": "), F.col(ERROR))
    # A filter is kept whatever columns the application asks for.
    good = F.when(F.col(ERROR).isNotNull(), F.raise_error(refusal)).otherwise(F.expr("true"))
    return decoded.where(good).drop(RAW, ERROR)
