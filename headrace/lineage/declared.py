"""The job that a file of a workspace declares, for lineage."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headrace.application.select import selected
from headrace.config.app.file import DynamicSource, HybridSource, IcebergSource, KafkaTopics
from headrace.config.app.sinks import JsonlSink
from headrace.config.common.kafka_parts import KafkaSink
from headrace.config.load import load_target
from headrace.config.stream.output_columns import projected_columns
from headrace.config.stream.sinks import SearchSink, StreamSink, TableSink
from headrace.contract import QUARANTINE
from headrace.expressions.columns import Columns
from headrace.expressions.projection import check_projection
from headrace.lineage.jobs import LineageDataset, LineageJob

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.config.app.file import AppSource
    from headrace.config.common.kafka_parts import QuarantineTopic
    from headrace.config.load import LoadedApp, LoadedLakeTable
    from headrace.config.stream.effective import Effective
    from headrace.config.stream.file import Output
    from headrace.config.workspace.workspace import Workspace
    from headrace.schema.model import Record, Type


def stream_job(stream: Effective, workspace: Workspace, *, is_lasting: bool = True) -> LineageJob:
    """Return the job of a stream: one topic to its outputs and its quarantine."""
    config, schema = stream.config, stream.stream.schema
    source = config.source
    outputs = [
        LineageDataset(
            _sink_of(stream, output, workspace),
            _columns_of(output, schema),
            {"stream": config.name, "output": output.name},
        )
        for output in config.outputs
    ]
    outputs += _quarantine(config.quarantine, {"stream": config.name, "output": QUARANTINE})
    return LineageJob(
        f"stream.{config.name}",
        "STREAM",
        is_lasting,
        [_topic(source.cluster, source.topic, schema, {"stream": config.name})],
        outputs,
    )


def table_job(table: LoadedLakeTable, *, is_lasting: bool = True) -> LineageJob:
    """Return the job of a lake table: one topic to its table and its quarantine."""
    config, counted = table.config, {"table": table.config.name}
    source = config.source
    return LineageJob(
        f"lake_table.{config.name}",
        "LAKE_TABLE",
        is_lasting,
        [_topic(source.cluster, source.topic, table.schema, counted)],
        [
            LineageDataset(f"iceberg:{config.table.identifier}", counted=counted),
            *_quarantine(config.quarantine, {}),
        ],
    )


def app_job(
    app: LoadedApp, choices: Mapping[str, str] | None = None, *, is_lasting: bool = True
) -> LineageJob:
    """Return the job of an application on its live sources."""
    config = app.config
    inputs = {
        one.location: one
        for source in selected(config, choices or {}).values()
        for one in _read(app, source)
    }
    if len(inputs) == 1:
        # The query counts the rows of all that it reads together.
        inputs = {name: replace(one, counted={"app": config.name}) for name, one in inputs.items()}
    lookups = (LineageDataset(f"iceberg:{one.identifier}") for one in config.lookups.values())
    return LineageJob(
        f"app.{config.name}",
        "APPLICATION",
        is_lasting,
        [*inputs.values(), *lookups],
        [LineageDataset(app_sink(app))],
    )


def app_sink(app: LoadedApp) -> str:
    """Return where an application's result goes."""
    sink = app.config.sink
    return f"jsonl:{sink.path}" if isinstance(sink, JsonlSink) else sink.location


def _topic(
    cluster: str, topic: str, schema: Record | None, counted: Mapping[str, str]
) -> LineageDataset:
    return LineageDataset(f"kafka:{cluster}/{topic}", _fields(schema), counted)


def _quarantine(
    topic: QuarantineTopic | None, counted: Mapping[str, str]
) -> Iterator[LineageDataset]:
    # Its records are those of the source, valid or not: they have no columns of their own.
    if topic is not None:
        yield LineageDataset(f"kafka:{topic.cluster}/{topic.topic}", {}, counted)


def _fields(schema: Record | None) -> dict[str, Type | None]:
    return {} if schema is None else {one.name: one.type for one in schema.fields}


def _columns_of(output: Output, schema: Record | None) -> Mapping[str, Type | None]:
    if schema is None and output.project is None:
        return {}
    projected, _ = check_projection(output.project or ("*",), schema)
    return projected_columns(projected, Columns(schema), ())


def _sink_of(stream: Effective, output: Output, workspace: Workspace) -> str:
    match output.sink:
        case TableSink() as sink:
            return f"iceberg:{sink.identifier}"
        case SearchSink() as sink:
            # Of the address only this: it may hold a password.
            parts = urlsplit(sink.url.reveal())
            return f"search:{parts.hostname}:{parts.port or _port(parts.scheme)}/{sink.index}"
        case StreamSink() as sink:
            other = load_target(stream.stream, sink, workspace).config.source
            return f"kafka:{other.cluster}/{other.topic}"
        case KafkaSink() as sink:
            return f"kafka:{sink.cluster}/{sink.topic}"


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _read(app: LoadedApp, source: AppSource) -> Iterator[LineageDataset]:
    sources = app.config.sources
    match source:
        case HybridSource():
            for part in (source.past, source.live):
                yield from _read(app, sources[part])
        case KafkaTopics():
            name = next((name for name, one in sources.items() if one is source), "")
            for topic in source.topics:
                yield _topic(source.cluster, topic, app.schemas.get(name), {})
        case IcebergSource():
            yield LineageDataset(f"iceberg:{source.identifier}")
        case DynamicSource():
            # It stands for what is selected, which is here by itself.
            return
