"""Where an application's result goes: a table, a topic, a folder of JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.app import IcebergSink, JsonlSink
from headrace.formats.encode import JSON_OPTIONS, encode_key, encode_value
from headrace.iceberg.tables import ensure_result_table
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.spark import spark_options
from headrace.schema.spark import from_spark

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from headrace.config.app import AppSink
    from headrace.config.workspace import Workspace


def start(  # noqa: PLR0913 - a query is made of these
    result: DataFrame,
    sink: AppSink,
    workspace: Workspace,
    name: str,
    checkpoint: Path,
    *,
    once: bool,
) -> StreamingQuery:
    """Start the query that carries the result into the sink."""
    writer = _writer(result, sink, workspace)
    writer = writer.queryName(name).option("checkpointLocation", str(checkpoint))
    if once:
        writer = writer.trigger(availableNow=True)
    return writer.outputMode("append").start()


def _writer(result: DataFrame, sink: AppSink, workspace: Workspace) -> DataStreamWriter:
    match sink:
        case IcebergSink():
            record = from_spark(result.schema.jsonValue())
            ensure_result_table(workspace, sink.catalog, sink.database, sink.table, record)
            writer = result.writeStream.format("iceberg").option("fanout-enabled", "true")
            return writer.option("path", sink.identifier)
        case JsonlSink():
            writer = result.writeStream.format("json").options(**JSON_OPTIONS)
            return writer.option("path", str(workspace.root / sink.path))
        case _:
            cluster = workspace.cluster(sink.cluster)
            KafkaCluster(cluster).ensure_topic(sink.topic)
            records = result.select(
                encode_key(sink.key).alias("key"),
                encode_value(result.columns, sink.format).alias("value"),
            )
            writer = records.writeStream.format("kafka").options(**spark_options(cluster))
            return writer.option("kafka.acks", "all").option("topic", sink.topic)
