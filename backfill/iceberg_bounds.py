"""Conditions on the bounds that Iceberg keeps of each file's columns."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import TYPE_CHECKING

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

from backfill.conditions import Bounds, may_match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType

    from backfill.conditions import Comparable, Condition
    from backfill.listing import Pair

_KINDS: dict[type[IcebergType], str] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "bigint",
    StringType: "string",
    DateType: "date",
    TimestamptzType: "timestamp",
    TimestampType: "timestamp_ntz",
}


def kind_of(held: IcebergType) -> str | None:
    """Return what Spark calls a type of Iceberg, None where its values are not compared here."""
    if isinstance(held, DecimalType):
        return f"decimal({held.precision},{held.scale})"
    return _KINDS.get(type(held))


def field_ids(schema: Schema, conditions: Sequence[Condition]) -> list[int]:
    """Return the ids of the columns that conditions are on, in their order."""
    return [schema.find_field(".".join(one.column)).field_id for one in conditions]


def file_may_match(schema: Schema, conditions: Sequence[Condition], bounds: Sequence[Pair]) -> bool:
    """Whether a file may have rows that meet all conditions, by the bounds of their columns."""
    by_condition = dict(zip(conditions, bounds, strict=True))
    return may_match(conditions, lambda one: _bounds(schema, one, *by_condition[one]))


def _bounds(
    schema: Schema, condition: Condition, lower: bytes | None, upper: bytes | None
) -> Bounds | None:
    held = schema.find_type(".".join(condition.column))
    if lower is None or upper is None or not isinstance(held, PrimitiveType):
        return None
    try:
        return Bounds(_plain(from_bytes(held, lower)), _plain(from_bytes(held, upper)))
    except (ValueError, TypeError, struct.error):
        # What another writer has cut short in the middle of a character, for one.
        return None


def _plain(value: object) -> Comparable:
    if isinstance(value, (bool, int, str, Decimal)):
        return value
    raise TypeError(type(value).__name__)
