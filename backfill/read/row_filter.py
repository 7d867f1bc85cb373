"""Conditions on Arrow's columns, and on the statistics of row groups."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from backfill.conditions import Bounds, may_match

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow.parquet as pq

    from backfill.conditions import Comparable, Condition

_ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def mask(batch: pa.RecordBatch, conditions: Sequence[Condition]) -> pa.BooleanArray:
    """Return which rows meet all conditions; a comparison with null does not."""
    found = reduce(pc.and_, (_met(batch, condition) for condition in conditions))
    return found.fill_null(False)


def _met(batch: pa.RecordBatch, condition: Condition) -> pa.BooleanArray:
    name, *inside = condition.column
    column = batch.column(name)
    for field in inside:
        column = pc.struct_field(column, field)
    if not condition.values:
        return pc.is_valid(column)
    kind = _arrow(condition.kind)
    held = column if column.type == kind else column.cast(kind)
    values = [pa.scalar(value, kind) for value in condition.comparables]
    match condition.test:
        case "in":
            known = pa.array(list(condition.comparables), kind)
            # Where a column is null, `in` answers false: such a row is left out by Spark, too.
            return pc.is_in(held, known)
        case "=":
            return pc.equal(held, values[0])
        case "!=":
            return pc.not_equal(held, values[0])
        case "<":
            return pc.less(held, values[0])
        case "<=":
            return pc.less_equal(held, values[0])
        case ">":
            return pc.greater(held, values[0])
        case _:
            return pc.greater_equal(held, values[0])


def groups_that_may_match(
    file: pq.ParquetFile, groups: Sequence[int], conditions: Sequence[Condition]
) -> list[int]:
    """Return those row groups of a file whose statistics do not rule the conditions out."""
    leaves = {file.schema.column(number).path: number for number in range(len(file.schema))}

    def bounds_in(group: int, condition: Condition) -> Bounds | None:
        leaf = leaves.get(".".join(condition.column))
        if leaf is None:
            return None
        statistics = file.metadata.row_group(group).column(leaf).statistics
        return None if statistics is None else _by_statistics(condition.kind, statistics)

    return [
        group
        for group in groups
        if may_match(conditions, lambda condition, at=group: bounds_in(at, condition))  # type: ignore[misc]  # the group of this turn
    ]


def _by_statistics(kind: str, statistics: pq.Statistics) -> Bounds | None:
    try:
        if not statistics.has_min_max:
            return None
        return Bounds(_as(kind, statistics.min), _as(kind, statistics.max))
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        # A time that Python does not know, or a type whose statistics it cannot read.
        return None


def _as(kind: str, value: object) -> Comparable:
    if isinstance(value, (date, datetime)):
        return int(pa.scalar(value, _arrow(kind)).value)
    return _plain(value)


def _plain(value: object) -> Comparable:
    if isinstance(value, (bool, int, str, Decimal)):
        return value
    raise TypeError(type(value).__name__)


def _arrow(kind: str) -> pa.DataType:
    if kind in _ARROW:
        return _ARROW[kind]
    precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
    return pa.decimal128(int(precision), int(scale))
