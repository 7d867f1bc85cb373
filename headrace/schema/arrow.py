"""The schema in Arrow's terms, and Arrow schemas in ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyarrow import types as is_

from headrace.schema.model import Array, Decimal, Field, Fixed, Map, Primitive, Record
from headrace.schema.recall import (
    ANNOTATION,
    annotated,
    annotation,
    carried,
    inferred_name,
    recall,
    unnamed_fixed,
)
from headrace.schema.refused import refuse_if
from headrace.schema.rules import problems_of

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

# In the order of asking: Arrow's predicates overlap.
_INFERRED: Final[tuple[tuple[Callable[[pa.DataType], bool], Primitive], ...]] = (
    (is_.is_boolean, Primitive.BOOLEAN),
    (lambda type_: type_ in (pa.int8(), pa.int16(), pa.int32()), Primitive.INT),
    (lambda type_: type_ in (pa.uint8(), pa.uint16()), Primitive.INT),
    (lambda type_: type_ in (pa.int64(), pa.uint32()), Primitive.LONG),
    (lambda type_: type_ in (pa.float16(), pa.float32()), Primitive.FLOAT),
    (is_.is_float64, Primitive.DOUBLE),
    (lambda type_: type_ in (pa.string(), pa.large_string(), pa.string_view()), Primitive.STRING),
    (lambda type_: type_ in (pa.binary(), pa.large_binary(), pa.binary_view()), Primitive.BYTES),
    (is_.is_date, Primitive.DATE),
    (is_.is_time32, Primitive.TIME_MILLIS),
    (lambda type_: type_ == pa.time64("us"), Primitive.TIME_MICROS),
    (lambda type_: type_ == pa.uuid(), Primitive.UUID),
)
_TIMESTAMPS: Final = {
    ("s", True): Primitive.TIMESTAMP_MILLIS,
    ("ms", True): Primitive.TIMESTAMP_MILLIS,
    ("us", True): Primitive.TIMESTAMP_MICROS,
    ("s", False): Primitive.LOCAL_TIMESTAMP_MILLIS,
    ("ms", False): Primitive.LOCAL_TIMESTAMP_MILLIS,
    ("us", False): Primitive.LOCAL_TIMESTAMP_MICROS,
}


def to_arrow(record: Record) -> pa.Schema:
    """Return the schema in which values of the record are held in memory."""
    refuse_if(record.name, problems_of(record))
    return pa.schema(
        [
            _field(field.name, field.type, field.nullable).with_metadata(
                {ANNOTATION: annotation(record, field)}
            )
            for field in record.fields
        ]
    )


def from_arrow(schema: pa.Schema, name: str = "row") -> Record:
    """Return what an Arrow schema means; `name` is the record's where no annotation has one."""
    reader = _Reader()
    found = Record(name, tuple(reader.field(field, f"{name}.") for field in schema))
    key = ANNOTATION.encode()
    said = annotated(
        (
            (field.name, metadata[key].decode(errors="replace") if key in metadata else None)
            for field, metadata in ((field, field.metadata or {}) for field in schema)
        ),
        name,
    )
    record = recall(found, said, carried)
    refuse_if("Arrow schema", [*reader.problems, *problems_of(record)])
    return record


def for_spark(schema: pa.Schema) -> pa.Schema:
    """Return the schema to cast Arrow batches to for Spark, which takes no fixed_size_binary."""
    fields = [_spark_field(field) for field in schema]
    return pa.schema(fields, schema.metadata)


def _spark_field(field: pa.Field) -> pa.Field:
    return field.with_type(_spark_type(field.type))


def _spark_type(type_: pa.DataType) -> pa.DataType:
    if is_.is_fixed_size_binary(type_):
        return pa.binary()
    if is_.is_struct(type_):
        return pa.struct([_spark_field(type_.field(i)) for i in range(type_.num_fields)])
    if is_.is_map(type_):
        return pa.map_(_spark_field(type_.key_field), _spark_field(type_.item_field))
    if is_.is_list(type_):
        return pa.list_(_spark_field(type_.value_field))
    if is_.is_large_list(type_):
        return pa.large_list(_spark_field(type_.value_field))
    return type_


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
            return pa.map_(pa.string(), _field("value", bare.value, bare.value_nullable))
        case Fixed():
            return pa.binary(bare.size)
        case Decimal():
            return pa.decimal128(bare.precision, bare.scale)
    return _ARROW[bare]


class _Reader:
    """Arrow's own types, read without annotations."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def field(self, field: pa.Field, prefix: str) -> Field:
        return Field(
            field.name, self._type(field.type, f"{prefix}{field.name}", field.name), field.nullable
        )

    def _type(self, type_: pa.DataType, at: str, name: str) -> Type:
        if is_.is_dictionary(type_):
            return self._type(type_.value_type, at, name)
        if is_.is_struct(type_):
            fields = (type_.field(index) for index in range(type_.num_fields))
            return Record(
                inferred_name(name), tuple(self.field(inner, f"{at}.") for inner in fields)
            )
        if is_.is_map(type_):
            if self._type(type_.key_type, at, name) != Primitive.STRING:
                self.problems.append(f"{at}: a map with keys of {type_.key_type} has no Avro type")
            return Map(self._type(type_.item_type, f"{at}{{}}", name), type_.item_field.nullable)
        if _is_list(type_):
            item = self._type(type_.value_type, f"{at}[]", name)
            return Array(item, type_.value_field.nullable)
        return self._leaf(type_, at)

    def _leaf(self, type_: pa.DataType, at: str) -> Type:
        if is_.is_fixed_size_binary(type_):
            return unnamed_fixed(type_.byte_width)
        if is_.is_decimal(type_):
            return Decimal(type_.precision, type_.scale)
        if is_.is_timestamp(type_) and (type_.unit, type_.tz is not None) in _TIMESTAMPS:
            return _TIMESTAMPS[type_.unit, type_.tz is not None]
        for means, primitive in _INFERRED:
            if means(type_):
                return primitive
        reason = " (microseconds are the finest)" if "[ns" in str(type_) else ""
        self.problems.append(f"{at}: Arrow's {type_} has no Avro type{reason}")
        return Primitive.STRING


def _is_list(type_: pa.DataType) -> bool:
    return bool(
        is_.is_list(type_)
        or is_.is_large_list(type_)
        or is_.is_list_view(type_)
        or is_.is_large_list_view(type_)
        or is_.is_fixed_size_list(type_)
    )
