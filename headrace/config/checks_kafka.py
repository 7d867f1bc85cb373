"""What must hold between the keys of a Kafka source, its schema, hygiene and sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.problems import did_you_mean
from headrace.expressions.columns import RAW, Columns, Missing
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
    return load_schema(sheet, (*path, "schema")), False


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


def check_hygiene(sheet: Sheet, columns: Columns) -> None:
    """Check that required columns exist and that quarantine is not the source."""
    for number, _ in enumerate(sheet.items("hygiene", "required")):
        path = ("hygiene", "required", number)
        name = sheet.text(*path)
        found = columns.find(name.split(".")) if name else None
        if isinstance(found, Missing):
            message = f"the schema has no column {sheet.shown(*path)}"
            sheet.report(path, message, "" if sheet.is_secret(*path) else found.suggestion)
    if not sheet.mapping("hygiene", "quarantine"):
        return
    sheet.check_cluster("hygiene", "quarantine", "cluster")
    target = place_of(sheet, ("hygiene", "quarantine"))
    for source, where in sources(sheet):
        if target is not None and source == target:
            message = (
                f"the quarantine topic is the source's own{where}: bad records would come back"
            )
            place = ("hygiene", "quarantine", "topic")
            sheet.report(place, message, "use another topic")
            break


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
    folded = {name.casefold() for name in given}
    key = sheet.text(*path, "key")
    if key and key.casefold() not in folded:
        message = f"the key {sheet.shown(*path, 'key')} is not among the output's columns"
        suggestion = "" if sheet.is_secret(*path, "key") else did_you_mean(key, given)
        sheet.report((*path, "key"), message, suggestion)
    if sheet.text(*path, "format") == "raw" and "value" not in folded:
        message = "format raw writes the column value, which the output does not have"
        sheet.report((*path, "format"), message, 'project an expression "… AS value"')
