"""What must hold between the keys of a Kafka source, its schema and its sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.checks_registry import check_registry_address
from headrace.config.problems import did_you_mean
from headrace.expressions.columns import RAW, Columns
from headrace.schema.avro import SchemaRefused, load_avro

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet
    from headrace.schema.model import Record


def check_source(sheet: Sheet, path: KeyPath) -> tuple[Record | None, bool]:
    """Check a Kafka source; return its schema, and whether its columns are known by it."""
    sheet.check_cluster(*path, "cluster")
    form = sheet.text(*path, "format")
    has_schema = "schema" in sheet.mapping(*path)
    if form == "raw":
        if has_schema:
            message = "format raw has no schema: its columns are the bytes key and value"
            sheet.report((*path, "schema"), message, "remove it, or use format json", key=True)
        return None, True
    if form in {"json", "avro"} and not has_schema:
        message = f'missing key "schema": format {form} needs one'
        sheet.report(path, message, "add schema: an Avro schema file", key=True)
    check_registry_address(sheet, (*path, "schema", "registry"))
    return load_schema(sheet, (*path, "schema")), False


def check_registry(sheet: Sheet, path: KeyPath) -> None:
    """Check that a source of format avro says once where its schemas are, and no other does."""
    form, given = sheet.text(*path, "format"), sheet.mapping(*path)
    is_registered = bool(sheet.mapping(*path, "schema"))
    check_registry_address(sheet, (*path, "registry"))
    if form in {"json", "raw"} and "registry" in given:
        message = f"a registry beside the schema is for format avro, and this is {form}"
        sheet.report((*path, "registry"), message, "remove it", key=True)
    elif is_registered and "registry" in given:
        message = "the schema says already which registry it is in"
        sheet.report((*path, "registry"), message, "remove one of the two", key=True)
    elif form == "avro" and "schema" in given and not is_registered and "registry" not in given:
        message = 'missing key "registry": format avro needs one to look up the schemas of writers'
        sheet.report(path, message, 'add registry: {url: "http://…"}', key=True)


def load_schema(sheet: Sheet, path: KeyPath) -> Record | None:
    """Return the schema that a value names; what is wrong with it is reported at that value."""
    place = sheet.find_file(*path)
    if place is None:
        return None
    try:
        return load_avro(place)
    except SchemaRefused as refused:
        for reason in refused.problems:
            sheet.report(path, f"schema {sheet.shown(*path)} cannot be used: {reason}")
    except RecursionError:
        sheet.report(path, f"schema {sheet.shown(*path)} cannot be used: it is nested too deep")
    return None


def columns_of(record: Record | None, *, is_raw: bool) -> Columns:
    """Return the columns that expressions may name."""
    return Columns(RAW if is_raw else record)


def place_of(sheet: Sheet, path: KeyPath) -> tuple[str, str] | None:
    """Return cluster and topic, None where one is not there."""
    cluster, topic = sheet.text(*path, "cluster"), sheet.text(*path, "topic")
    return (cluster, topic) if cluster and topic else None


def sources(sheet: Sheet) -> Iterator[tuple[tuple[str, str], str]]:
    """Give cluster and topic of the source, then of each deployment that changes one of them."""
    base = place_of(sheet, ("source",))
    if base is None:
        return
    yield base, ""
    for name in sheet.mapping("overrides"):
        path = ("overrides", name, "source")
        cluster, topic = sheet.text(*path, "cluster"), sheet.text(*path, "topic")
        if cluster or topic:
            yield (cluster or base[0], topic or base[1]), f" in deployment {name}"


def check_overrides(sheet: Sheet) -> None:
    """Check the clusters that deployments name."""
    for name in sheet.mapping("overrides"):
        sheet.check_cluster("overrides", name, "source", "cluster")


def check_sink(sheet: Sheet, path: KeyPath, given: Sequence[str] | None) -> None:
    """Check a Kafka sink; `given` are the columns that reach it, None where they are not known."""
    sheet.check_cluster(*path, "cluster")
    if given is None:
        return
    check_named(sheet, (*path, "key"), "key", given)
    if sheet.text(*path, "format") == "raw" and not _has(given, "value"):
        message = "format raw writes the column value, which the output does not have"
        sheet.report((*path, "format"), message, 'project an expression "… AS value"')


def check_named(sheet: Sheet, path: KeyPath, what: str, given: Sequence[str]) -> None:
    """Check that a value names one of the columns that reach a sink."""
    name = sheet.text(*path)
    if name and not _has(given, name):
        message = f"the {what} {sheet.shown(*path)} is not among the output's columns"
        sheet.report(path, message, "" if sheet.is_secret(*path) else did_you_mean(name, given))


def _has(given: Sequence[str], name: str) -> bool:
    return name.casefold() in {one.casefold() for one in given}
