"""The schema in Arrow's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyarrow import types as is_

from headrace.schema.annotations import carried
from headrace.schema.model import Array, Decimal, Fixed, Map, Primitive, Record
from headrace.schema.rules import problems_of, refuse_if

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.schema.model import Type

_ARROW: Final[Mapping[Primitive, pa.DataType]] = {
    Primitive.BOOLEAN: pa.bool_(),
    Primitive.INT: pa.int32(),
    Primitive.LONG: pa.int64(),
    Primitive.FLOAT: pa.float32(),
    Primitive.DOUBLE: pa.float64(),
    Primitive.BYTES: pa.binary(),
    Primitive.STRING: pa.string(),
    Primitive.DATE: pa.date32(),
    Primitive.TIMESTAMP_MICROS: pa.timestamp("us", tz="UTC"),
    Primitive.LOCAL_TIMESTAMP_MICROS: pa.timestamp("us"),
}


def to_arrow(record: Record) -> pa.Schema:
    """Return the schema in which values of the record are held in memory."""
    refuse_if(record.name, problems_of(record))
    return pa.schema([_field(field.name, field.type, field.nullable) for field in record.fields])


def for_spark(schema: pa.Schema) -> pa.Schema:
    """Return the schema to cast Arrow batches to for Spark, which takes no fixed_size_binary."""

    def taken(type_: pa.DataType) -> pa.DataType:
        return pa.binary() if is_.is_fixed_size_binary(type_) else type_

    fields = [field.with_type(with_leaves(field.type, taken)) for field in schema]
    return pa.schema(fields, schema.metadata)


def with_leaves(type_: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return the type with each type in it that has no parts changed."""

    def inside(field: pa.Field) -> pa.Field:
        return field.with_type(with_leaves(field.type, change))

    if is_.is_struct(type_):
        return pa.struct([inside(type_.field(i)) for i in range(type_.num_fields)])
    if is_.is_map(type_):
        return pa.map_(inside(type_.key_field), inside(type_.item_field))
    if is_.is_list(type_):
        return pa.list_(inside(type_.value_field))
    if is_.is_large_list(type_):
        return pa.large_list(inside(type_.value_field))
    return change(type_)


def _field(name: str, node: Type, nullable: bool) -> pa.Field:
    return pa.field(name, _arrow(node), nullable=nullable)


def _arrow(node: Type) -> pa.DataType:
    bare = carried(node)
    match bare:
        case Record():
            return pa.struct(
                [_field(inner.name, inner.type, inner.nullable) for inner in bare.fields]
            )
        case Array():
            # Parquet's own name for it, so that a file gives back the very same schema.
            return pa.list_(_field("element", bare.item, bare.item_nullable))
        case Map():
            return pa.map_(pa.string(), _field("value", bare.item, bare.item_nullable))
        case Fixed():
            return pa.binary(bare.size)
        case Decimal():
            return pa.decimal128(bare.precision, bare.scale)
    return _ARROW[bare]
