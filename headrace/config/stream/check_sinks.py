"""What must hold between the columns of a stream's output and the sink that they go to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.common.check_kafka import check_named, check_sink, load_schema
from headrace.config.common.check_registry import check_address, check_registry_address
from headrace.config.lake_table.checks import check_partitions
from headrace.config.stream.check_search import check_login
from headrace.config.stream.check_target import check_target
from headrace.config.stream.output_columns import check_fits
from headrace.config.stream.sinks import ORIGIN_ID
from headrace.expressions.columns import Columns
from headrace.schema.model import Field, Record

if TYPE_CHECKING:
    from headrace.config.common.section import Section
    from headrace.config.stream.output_columns import OutputColumns


def check_output_sink(sink: Section, columns: OutputColumns | None) -> Record | None:
    """Check a sink, whose columns are None where they are not known; return its own schema."""
    match sink.text("type"):
        case "kafka":
            check_sink(sink, None if columns is None else tuple(columns))
            return _check_schema(sink, columns)
        case "iceberg":
            sink.check_catalog("catalog")
            _check_partitions(sink.at("partition_by"), columns)
        case "search":
            check_address(sink.at("url"))
            check_login(sink)
            if columns is not None and sink.text("id") != ORIGIN_ID:
                check_named(sink.at("id"), "id", tuple(columns))
        case "stream":
            check_target(sink, columns)
        case _:
            pass  # the model reports it
    return None


def _check_schema(sink: Section, columns: OutputColumns | None) -> Record | None:
    """Check what belongs to format avro alone; return the schema that is written with."""
    form, keys = sink.text("format"), sink.mapping()
    check_registry_address(sink.at("registry"))
    if form == "avro":
        if "registry" not in keys:
            message = 'missing key "registry": format avro registers its schema there'
            sink.report(message, 'add registry: {url: "http://…"}', key=True)
        named = sink.at("schema")
        schema = load_schema(named)
        if schema is not None and columns is not None:
            check_fits(named, columns, schema, f"the schema {named.shown()}", as_json=False)
        return schema
    for key in ("schema", "registry"):
        if form in {"json", "raw"} and key in keys:
            message = f"{key} is for format avro, but this sink writes {form}"
            sink.at(key).report(message, "remove it, or use format avro", key=True)
    return None


def _check_partitions(partitions: Section, columns: OutputColumns | None) -> None:
    types = columns or {}
    fields = [Field(name, kind, nullable=True) for name, kind in types.items() if kind is not None]
    known = Columns(None if columns is None else Record("output", tuple(fields)))
    check_partitions(partitions, known, [name for name, kind in types.items() if kind is None])
