"""Where an application's result goes: a table, a topic, a folder of JSON Lines."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from headrace.application.emitted import JSON_OPTIONS, encode_key, encode_value, require_columns
from headrace.application.late_in_plan import dropped_late
from headrace.application.table_sink import AppendOnce, Upsert, ensure_fits
from headrace.config.app.sinks import IcebergSink, JsonlSink
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.settings import spark_options
from headrace.queries.checkpoint import location_of, query_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.application.late_rows import LateRows
    from headrace.config.app.sinks import AppSink, TopicOfResults
    from headrace.config.workspace.workspace import Workspace
    from headrace.queries.checkpoint import Place

    Write: TypeAlias = Callable[[DataFrame, int, Callable[[], None]], None]


def start(  # noqa: PLR0913, PLR0917 - a query is made of these
    result: DataFrame,
    sink: AppSink,
    workspace: Workspace,
    name: str,
    checkpoint: Place,
    late: LateRows,
    still_ours: Callable[[], None] = lambda: None,
) -> StreamingQuery:
    """Start the query that carries the result into the sink; `late` counts what batches drop.

    `still_ours` raises where another host may run this by now; it is asked before each batch.
    """
    require_columns(result, sink)
    write, spark = _write(result, sink, workspace, name, checkpoint), result.sparkSession

    def handle(batch: DataFrame, number: int) -> None:
        still_ours()

        def computed() -> None:
            late.take(number, dropped_late(spark, name, late.may_repeat))

        write(batch, number, computed)

    writer = result.writeStream.foreachBatch(handle)
    writer = writer.queryName(name).option("checkpointLocation", location_of(checkpoint))
    return writer.outputMode("append").start()


def _write(
    result: DataFrame, sink: AppSink, workspace: Workspace, name: str, checkpoint: Place
) -> Write:
    match sink:
        case IcebergSink():
            ensure_fits(workspace, sink, result)
            if sink.mode == "upsert":
                return Upsert(sink)
            return AppendOnce(workspace, sink.identifier, name, checkpoint)
        case JsonlSink():
            folder = workspace.root / sink.path
            workspace.require_reached(f"the sink of {name}", str(folder))
            folder.mkdir(parents=True, exist_ok=True)
            return JsonLines(folder, name, checkpoint)
        case _:
            cluster = workspace.cluster(sink.cluster)
            KafkaCluster(cluster).ensure_topic(sink.topic)
            return partial(_to_kafka, sink, spark_options(cluster))


def _to_kafka(
    sink: TopicOfResults,
    options: Mapping[str, str],
    batch: DataFrame,
    _number: int,
    computed: Callable[[], None],
) -> None:
    records = batch.select(
        encode_key(sink.key).alias("key"), encode_value(batch.columns, sink.format).alias("value")
    )
    writer = records.write.format("kafka").mode("append").options(**options)
    writer.option("kafka.acks", "all").option("topic", sink.topic).save()
    computed()


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Writes the batches of one query. Spark's own sink would skip those of a second query."""

    folder: Path
    name: str
    checkpoint: Place

    def __call__(self, batch: DataFrame, batch_id: int, computed: Callable[[], None]) -> None:
        """Write a batch; what a killed one left under its name is replaced."""
        prefix = f"{prefix_of(self.name, query_id(self.checkpoint))}{batch_id:06d}"
        # A name that readers of folders pass over.
        draft = self.folder / f".{prefix}"
        batch.write.mode("overwrite").options(**JSON_OPTIONS).json(draft.as_uri())
        computed()
        for old in self.folder.glob(f"{prefix}-*.jsonl"):
            old.unlink()
        parts = (path for path in sorted(draft.glob("part-*")) if path.stat().st_size)
        for number, part in enumerate(parts):
            part.replace(self.folder / f"{prefix}-{number:03d}.jsonl")
        shutil.rmtree(draft)


def files_after(folder: Path, prefix: str, batch: int) -> list[Path]:
    """Return the files of a query's batches after this one."""
    found = sorted(folder.glob(f"{prefix}*.jsonl"))
    return [one for one in found if int(one.name.removeprefix(prefix).split("-")[0]) > batch]


def prefix_of(name: str, query: str) -> str:
    """Return what the names of a query's files begin with."""
    return f"{name}-{query[:8]}-"
