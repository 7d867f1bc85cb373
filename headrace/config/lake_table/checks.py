"""What must hold between the keys of a lake table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from headrace.config.checks_hygiene import check_hygiene
from headrace.config.checks_kafka import (
    check_overrides,
    check_registry,
    check_source,
    columns_of,
)
from headrace.config.partitioning import Partition, parse_partition
from headrace.expressions.columns import Columns, Missing
from headrace.records.hygiene import never_null
from headrace.schema.model import Array, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet
    from headrace.schema.model import Type

_TIMESTAMPS = {
    Primitive.TIMESTAMP_MILLIS,
    Primitive.TIMESTAMP_MICROS,
    Primitive.LOCAL_TIMESTAMP_MILLIS,
    Primitive.LOCAL_TIMESTAMP_MICROS,
}


def check_lake_table(sheet: Sheet) -> dict[str, Record]:
    """Report every contradiction in a lake table; return the schema of its source."""
    schema, is_raw = check_source(sheet, ("source",))
    check_registry(sheet, ("source",))
    columns = columns_of(schema, is_raw=is_raw)
    check_hygiene(sheet, columns)
    check_overrides(sheet)
    _check_tombstones(sheet, schema)
    _check_incompatible(sheet)
    _check_keep(sheet)
    sheet.check_catalog("table", "catalog")
    check_partitions(sheet, ("table", "partition_by"), columns)
    return {} if schema is None else {"source": schema}


def _check_tombstones(sheet: Sheet, schema: Record | None) -> None:
    path = ("hygiene", "tombstones")
    stuck = [] if schema is None else never_null(schema)
    if sheet.text(*path) == "keep" and stuck:
        message = f"a tombstone cannot be kept as a row: {', '.join(stuck)} cannot be null"
        advice = 'let the schema say ["null", …], or choose quarantine or drop'
        sheet.report(path, message, advice)


def _check_incompatible(sheet: Sheet) -> None:
    path = ("on_incompatible_schema",)
    if sheet.text(*path) != "quarantine":
        return
    if (sheet.text("schema_evolution") or "none") == "none":
        message = "without schema_evolution there is no change of the schema to go on after"
        sheet.report(path, message, "remove it, or add schema_evolution: add_columns")
    if (sheet.text("hygiene", "on_bad_record") or "quarantine") != "quarantine":
        message = f"hygiene keeps no bad record: on_bad_record is {sheet.shown('hygiene', 'on_bad_record')}"
        sheet.report(path, message, "choose stop, or hygiene.on_bad_record: quarantine")


def _check_keep(sheet: Sheet) -> None:
    seen: set[str | None] = set()
    for number, _ in enumerate(sheet.items("keep")):
        part = sheet.text("keep", number)
        if part is not None and part in seen:
            sheet.report(("keep", number), f"{part} is there twice", "remove one of them")
        seen.add(part)


def check_partitions(
    sheet: Sheet, path: KeyPath, columns: Columns, untyped: Collection[str] = ()
) -> None:
    """Check that a table can be partitioned by the columns that a list names.

    `untyped` are those that are there, too, and whose types are not known yet.
    """
    seen: set[Partition] = set()
    for number, _ in enumerate(sheet.items(*path)):
        partition = _partition(sheet, (*path, number))
        if partition is None:
            continue
        if partition in seen:
            sheet.report((*path, number), f"{partition} is there twice", "remove one of them")
        elif partition.column.split(".")[0] not in untyped:
            _check_partition(sheet, (*path, number), columns, partition)
        seen.add(partition)


def _partition(sheet: Sheet, path: KeyPath) -> Partition | None:
    text = sheet.text(*path)
    if text is None or sheet.is_secret(*path):
        return None
    try:
        return parse_partition(text)
    except PydanticCustomError:
        return None  # the model reports it


def _check_partition(sheet: Sheet, path: KeyPath, columns: Columns, partition: Partition) -> None:
    text = sheet.text(*path) or ""
    offset = max(text.replace("`", "").rfind(partition.column), 0)
    found = columns.find(partition.column.split("."))
    if isinstance(found, Missing):
        sheet.report(path, found.message, found.suggestion, offset=offset)
    elif found.type is not None and not _fits(partition, found.type):
        message = f'"{partition.column}" cannot be partitioned by {partition.transform}'
        sheet.report(path, message, _remedy(partition), offset=offset)


def _fits(partition: Partition, column: Type) -> bool:
    if partition.transform == "hour":
        return column in _TIMESTAMPS
    if partition.transform in {"day", "month", "year"}:
        return column in _TIMESTAMPS or column is Primitive.DATE
    return not isinstance(column, Record | Array | Map)


def _remedy(partition: Partition) -> str:
    if partition.transform in {"hour", "day", "month", "year"}:
        return "use a column of a timestamp or date type"
    return "use a column of a plain type, or a field in it"
