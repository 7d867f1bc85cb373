"""Where an application's result goes: a table, a topic, a folder of JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.application.emitted import require_columns
from headrace.application.jsonl_sink import JsonLines
from headrace.application.table_sink import AppendOnce, Upsert, ensure_fits
from headrace.config.app_sinks import IcebergSink, JsonlSink
from headrace.formats.encode import encode_key, encode_value
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.spark import spark_options

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from headrace.config.app_sinks import AppSink
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
    require_columns(result, sink)
    writer = _writer(result, sink, workspace, name, checkpoint)
    writer = writer.queryName(name).option("checkpointLocation", str(checkpoint))
    if once:
        writer = writer.trigger(availableNow=True)
    return writer.outputMode("append").start()


def _writer(
    result: DataFrame, sink: AppSink, workspace: Workspace, name: str, checkpoint: Path
) -> DataStreamWriter:
    match sink:
        case IcebergSink():
            ensure_fits(workspace, sink, result)
            if sink.mode == "upsert":
                return result.writeStream.foreachBatch(Upsert(sink))
            appended = AppendOnce(workspace, sink.identifier, name, checkpoint)
            return result.writeStream.foreachBatch(appended)
        case JsonlSink():
            folder = workspace.root / sink.path
            folder.mkdir(parents=True, exist_ok=True)
            return result.writeStream.foreachBatch(JsonLines(folder, name, checkpoint))
        case _:
            cluster = workspace.cluster(sink.cluster)
            KafkaCluster(cluster).ensure_topic(sink.topic)
            records = result.select(
                encode_key(sink.key).alias("key"),
                encode_value(result.columns, sink.format).alias("value"),
            )
            writer = records.writeStream.format("kafka").options(**spark_options(cluster))
            return writer.option("kafka.acks", "all").option("topic", sink.topic)
