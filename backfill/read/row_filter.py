"""Conditions on Arrow's columns, on the statistics of row groups, and on the bounds of files."""

from __future__ import annotations

import struct
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import from_bytes
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from backfill.plan.conditions import Bounds, may_match
from headrace.records.arrow import column_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow.parquet as pq
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType

    from backfill.plan.conditions import Comparable, Condition, Test
    from backfill.read.listing import RawBounds

# What Spark calls a type, and what Iceberg and Arrow do; a decimal is none of them.
KINDS: Final[Mapping[str, tuple[type[IcebergType], pa.DataType]]] = {
    "boolean": (BooleanType, pa.bool_()),
    "int": (IntegerType, pa.int32()),
    "bigint": (LongType, pa.int64()),
    "string": (StringType, pa.string()),
    "date": (DateType, pa.date32()),
    "timestamp": (TimestamptzType, pa.timestamp("us", tz="UTC")),
    "timestamp_ntz": (TimestampType, pa.timestamp("us")),
}
_OF_ICEBERG: Final = {iceberg: kind for kind, (iceberg, _) in KINDS.items()}
_COMPARE: Final[Mapping[Test, Callable[..., pa.BooleanArray]]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def kind_of(type_: IcebergType) -> str | None:
    """Return what Spark calls a type of Iceberg, None where its values are not compared here."""
    if isinstance(type_, DecimalType):
        return f"decimal({type_.precision},{type_.scale})"
    return _OF_ICEBERG.get(type(type_))


def mask(batch: pa.RecordBatch, conditions: Sequence[Condition]) -> pa.BooleanArray:
    """Return which rows meet all conditions; a comparison with null does not."""
    found = reduce(pc.and_, (_met(batch, condition) for condition in conditions))
    return found.fill_null(False)


def _met(batch: pa.RecordBatch, condition: Condition) -> pa.BooleanArray:
    column = column_at(batch, ".".join(condition.column))
    if not condition.values:
        return pc.is_valid(column)
    kind = _arrow(condition.kind)
    held = column if column.type == kind else column.cast(kind)
    values = pa.array(list(condition.comparables), kind)
    # Where a column is null, `in` answers false: such a row is left out by Spark, too.
    if condition.test == "in":
        return pc.is_in(held, values)
    return _COMPARE[condition.test](held, values[0])


def groups_that_may_match(
    file: pq.ParquetFile, groups: Sequence[int], conditions: Sequence[Condition]
) -> list[int]:
    """Return those row groups of a file whose statistics do not rule the conditions out."""
    leaves = {file.schema.column(number).path: number for number in range(len(file.schema))}

    def bounds_in(group: int) -> Iterator[Bounds | None]:
        for condition in conditions:
            leaf = leaves.get(".".join(condition.column))
            held = None if leaf is None else file.metadata.row_group(group).column(leaf).statistics
            yield None if held is None else _by_statistics(condition.kind, held)

    return [group for group in groups if may_match(conditions, bounds_in(group))]


def _by_statistics(kind: str, statistics: pq.Statistics) -> Bounds | None:
    try:
        if not statistics.has_min_max:
            return None
        low, high = (
            pa.scalar(one, _arrow(kind)).value if isinstance(one, (date, datetime)) else one
            for one in (statistics.min, statistics.max)
        )
        return Bounds(_plain(low), _plain(high))
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        # A time that Python does not know, or a type whose statistics it cannot read.
        return None


def field_ids(schema: Schema, conditions: Sequence[Condition]) -> list[int]:
    """Return the ids of the columns that conditions are on, in their order."""
    return [schema.find_field(".".join(one.column)).field_id for one in conditions]


def file_may_match(
    schema: Schema, conditions: Sequence[Condition], bounds: Sequence[RawBounds]
) -> bool:
    """Whether a file may have rows that meet all conditions, by the bounds of their columns."""
    held = (_by_manifest(schema, one, *of) for one, of in zip(conditions, bounds, strict=False))
    return may_match(conditions, held)


def _by_manifest(
    schema: Schema, condition: Condition, lower: bytes | None, upper: bytes | None
) -> Bounds | None:
    if not condition.values:
        return None
    held = schema.find_type(".".join(condition.column))
    if lower is None or upper is None or not isinstance(held, PrimitiveType):
        return None
    try:
        return Bounds(_plain(from_bytes(held, lower)), _plain(from_bytes(held, upper)))
    except (ValueError, TypeError, struct.error):
        # What another writer has cut short in the middle of a character, for one.
        return None


def _plain(value: Any) -> Comparable:  # noqa: ANN401 - of any type
    if isinstance(value, (bool, int, str, Decimal)):
        return value
    raise TypeError(type(value).__name__)


def _arrow(kind: str) -> pa.DataType:
    if kind in KINDS:
        return KINDS[kind][1]
    precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
    return pa.decimal128(int(precision), int(scale))
