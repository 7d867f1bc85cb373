"""What must hold between the keys of a lake table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from headrace.config.common.check_hygiene import check_hygiene
from headrace.config.common.check_kafka import check_overrides, check_source
from headrace.config.lake_table.partitioning import Partition, parse_partition
from headrace.expressions.columns import UnknownColumn
from headrace.records.hygiene.rules import never_null
from headrace.schema.model import TIMESTAMPS, Array, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.config.common.section import Section
    from headrace.expressions.columns import Columns
    from headrace.schema.model import Type


def check_lake_table(table: Section) -> dict[str, Record]:
    """Report every contradiction in a lake table; return the schema of its source."""
    schema, columns = check_source(table.at("source"))
    check_hygiene(table, columns)
    check_overrides(table)
    _check_tombstones(table.at("hygiene", "tombstones"), schema)
    _check_incompatible(table)
    _check_keep(table)
    table.check_catalog("table", "catalog")
    check_partitions(table.at("table", "partition_by"), columns)
    return {} if schema is None else {"source": schema}


def _check_tombstones(tombstones: Section, schema: Record | None) -> None:
    never = [] if schema is None else never_null(schema)
    if tombstones.text() == "keep" and never:
        message = f"a tombstone cannot be kept as a row: {', '.join(never)} cannot be null"
        advice = 'use ["null", …] in the schema, or choose quarantine or drop'
        tombstones.report(message, advice)


def _check_incompatible(table: Section) -> None:
    incompatible = table.at("on_incompatible_schema")
    if incompatible.text() != "quarantine":
        return
    if (table.text("schema_evolution") or "none") == "none":
        message = "on_incompatible_schema has no effect without schema_evolution"
        incompatible.report(message, "remove it, or add schema_evolution: add_columns")
    action = table.at("hygiene", "on_bad_record")
    if (action.text() or "quarantine") != "quarantine":
        message = f"hygiene does not quarantine rejected records: on_bad_record is {action.shown()}"
        incompatible.report(message, "choose stop, or hygiene.on_bad_record: quarantine")


def _check_keep(table: Section) -> None:
    seen: set[str] = set()
    for one in table.each("keep"):
        part = one.text()
        if part is not None and part in seen:
            one.report(f"{part} is listed twice", "remove one of them")
        seen.add(part or "")


def check_partitions(partitions: Section, columns: Columns, untyped: Collection[str] = ()) -> None:
    """Check that a table can be partitioned by the columns that a list names.

    `untyped` are those that are there, too, and whose types are not known yet.
    """
    seen: set[Partition] = set()
    for item in partitions.each():
        text = item.text()
        if text is None or item.is_secret():
            continue
        try:
            partition = parse_partition(text)
        except PydanticCustomError:
            continue  # the model reports it
        if partition in seen:
            item.report(f"{partition} is listed twice", "remove one of them")
        elif partition.column.split(".")[0] not in untyped:
            _check_partition(item, text, columns, partition)
        seen.add(partition)


def _check_partition(item: Section, text: str, columns: Columns, partition: Partition) -> None:
    offset = max(text.replace("`", "").rfind(partition.column), 0)
    found = columns.find(partition.column.split("."))
    if isinstance(found, UnknownColumn):
        item.report(found.message, found.suggestion, offset=offset)
    elif found.type is not None and not _fits(partition, found.type):
        message = f'"{partition.column}" cannot be partitioned by {partition.transform}'
        item.report(message, _remedy(partition), offset=offset)


def _fits(partition: Partition, column: Type) -> bool:
    if partition.transform == "hour":
        return column in TIMESTAMPS
    if partition.transform in {"day", "month", "year"}:
        return column in TIMESTAMPS or column is Primitive.DATE
    return not isinstance(column, Record | Array | Map)


def _remedy(partition: Partition) -> str:
    if partition.transform in {"hour", "day", "month", "year"}:
        return "use a column of a timestamp or date type"
    return "use a column of a plain type, or a field in it"
