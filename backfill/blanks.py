"""Columns that a query does not use, in the place where Spark has been promised them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection


def with_blanks(batch: pa.RecordBatch, whole: pa.Schema, read: Collection[str]) -> pa.RecordBatch:
    """Return a batch with all columns of a schema, in its order; those not to be read are blank.

    Those that were to be read have to be there. Others may be, for the sake of the replay.
    """
    if batch.schema.names == whole.names == list(read):
        return batch
    held = set(read)
    columns = [
        batch.column(field.name) if field.name in held else _blank(field, batch.num_rows)
        for field in whole
    ]
    return pa.RecordBatch.from_arrays(columns, names=whole.names)


def to_read(used: Collection[str], whole: pa.Schema) -> tuple[str, ...]:
    """Return which columns to read, in the order of the schema."""
    return tuple(field.name for field in whole if field.name in used)


def _blank(field: pa.Field, rows: int) -> pa.Array:
    if field.nullable:
        return pa.nulls(rows, field.type)
    # No value is ever looked at, but Spark copies it, and trusts that it is there.
    if pa.types.is_string(field.type) or pa.types.is_binary(field.type):
        return pa.repeat(pa.scalar("", pa.string()).cast(field.type), rows)
    if pa.types.is_boolean(field.type):
        return pa.repeat(pa.scalar(value=False), rows)
    if pa.types.is_struct(field.type):
        held = list(field.type)
        return pa.StructArray.from_arrays([_blank(one, rows) for one in held], fields=held)
    if pa.types.is_nested(field.type):
        return pa.array([[]] * rows, field.type)
    if pa.types.is_decimal(field.type):
        return pa.repeat(pa.scalar(Decimal(0), field.type), rows)
    if pa.types.is_floating(field.type):
        return pa.repeat(pa.scalar(0, pa.int32()).cast(field.type), rows)
    wide = (
        pa.int32()
        if pa.types.is_int32(field.type) or pa.types.is_date32(field.type)
        else pa.int64()
    )
    return pa.repeat(pa.scalar(0, wide).cast(field.type), rows)
