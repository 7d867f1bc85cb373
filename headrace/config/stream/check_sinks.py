"""What must hold between the columns of a stream's output and the sink that they go to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.checks_kafka import check_named, check_sink, load_schema
from headrace.config.checks_lake_table import check_partitions
from headrace.config.checks_registry import check_address, check_registry_address
from headrace.config.checks_target import check_target
from headrace.config.given import Given, check_fits
from headrace.config.sinks import ORIGIN_ID
from headrace.expressions.columns import Columns
from headrace.schema.model import Field, Record

if TYPE_CHECKING:
    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet


def check_output_sink(sheet: Sheet, path: KeyPath, given: Given | None) -> Record | None:
    """Check a sink, whose columns are None where they are not known; return its own schema."""
    match sheet.text(*path, "type"):
        case "kafka":
            check_sink(sheet, path, given.names if given else None)
            return _check_schema(sheet, path, given)
        case "iceberg":
            sheet.check_catalog(*path, "catalog")
            _check_partitions(sheet, (*path, "partition_by"), given)
        case "search":
            check_address(sheet, (*path, "url"))
            if given is not None and sheet.text(*path, "id") != ORIGIN_ID:
                check_named(sheet, (*path, "id"), "id", given.names)
        case "stream":
            check_target(sheet, path, given)
        case _:
            pass  # the model reports it
    return None


def _check_schema(sheet: Sheet, path: KeyPath, given: Given | None) -> Record | None:
    """Check what belongs to format avro alone; return the schema that is written with."""
    form, keys = sheet.text(*path, "format"), sheet.mapping(*path)
    check_registry_address(sheet, (*path, "registry"))
    if form == "avro":
        if "registry" not in keys:
            message = 'missing key "registry": format avro registers its schema there'
            sheet.report(path, message, 'add registry: {url: "http://…"}', key=True)
        place = (*path, "schema")
        schema = load_schema(sheet, place)
        if schema is not None and given is not None:
            what = f"the schema {sheet.shown(*place)}"
            check_fits(sheet, place, given, schema, what, as_json=False)
        return schema
    for key in ("schema", "registry"):
        if form in {"json", "raw"} and key in keys:
            message = f"{key} is for format avro, and this sink writes {form}"
            sheet.report((*path, key), message, "remove it, or use format avro", key=True)
    return None


def _check_partitions(sheet: Sheet, path: KeyPath, given: Given | None) -> None:
    types = {} if given is None else given.types
    fields = [Field(name, kind, nullable=True) for name, kind in types.items() if kind is not None]
    columns = Columns(None if given is None else Record("output", tuple(fields)))
    check_partitions(sheet, path, columns, [name for name, kind in types.items() if kind is None])
