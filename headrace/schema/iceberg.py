"""The schema in Iceberg's terms, and Iceberg schemas in ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from headrace.schema.annotations import (
    PROPERTY,
    ROW,
    carried,
    inferred_name,
    recall,
    said_in,
    unnamed_fixed,
)
from headrace.schema.avro import to_avro
from headrace.schema.model import Array, Decimal, Field, Fixed, Map, Primitive, Record
from headrace.schema.rules import problems_of, refuse_if

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.types import IcebergType

    from headrace.schema.model import Type

_ICEBERG: Final[Mapping[Primitive, IcebergType]] = {
    Primitive.BOOLEAN: BooleanType(),
    Primitive.INT: IntegerType(),
    Primitive.LONG: LongType(),
    Primitive.FLOAT: FloatType(),
    Primitive.DOUBLE: DoubleType(),
    Primitive.BYTES: BinaryType(),
    Primitive.STRING: StringType(),
    Primitive.DATE: DateType(),
    Primitive.TIMESTAMP_MICROS: TimestamptzType(),
    Primitive.LOCAL_TIMESTAMP_MICROS: TimestampType(),
}
_INFERRED: Final[Mapping[IcebergType, Primitive]] = {
    **{iceberg: primitive for primitive, iceberg in _ICEBERG.items()},
    TimeType(): Primitive.TIME_MICROS,
    UUIDType(): Primitive.UUID,
}
_UNNUMBERED: Final = 0


def to_iceberg(record: Record) -> tuple[Schema, dict[str, str]]:
    """Return a new table's schema, and the properties that keep what its types cannot say.

    The ids are those that a catalog gives to a new table: from 1, all the fields of a struct in
    their order before anything inside them.
    """
    refuse_if(record.name, problems_of(record))
    schema = assign_fresh_schema_ids(Schema(*_fields(record)))
    return schema, {PROPERTY: json.dumps(to_avro(record))}


def from_iceberg(schema: Schema, properties: Mapping[str, str]) -> Record:
    """Return what a table's schema means; the record is a `row` where no property names it."""
    reader = _Reader()
    found = Record(ROW, tuple(reader.field(field, f"{ROW}.") for field in schema.fields))
    said = said_in(properties.get(PROPERTY), PROPERTY) or Record(ROW, ())
    record = recall(found, said, carried)
    refuse_if("Iceberg schema", [*reader.problems, *problems_of(record)])
    return record


def _fields(record: Record) -> list[NestedField]:
    return [
        NestedField(
            _UNNUMBERED,
            field.name,
            iceberg_type(field.type),
            required=not field.nullable,
            doc=field.doc,
        )
        for field in record.fields
    ]


def iceberg_type(node: Type) -> IcebergType:
    """Return the type of a column; the ids inside it are still to be given."""
    bare = carried(node)
    match bare:
        case Record():
            return StructType(*_fields(bare))
        case Array():
            element = iceberg_type(bare.item)
            return ListType(_UNNUMBERED, element, element_required=not bare.item_nullable)
        case Map():
            value, required = iceberg_type(bare.item), not bare.item_nullable
            return MapType(_UNNUMBERED, StringType(), _UNNUMBERED, value, value_required=required)
        case Fixed():
            return FixedType(bare.size)
        case Decimal():
            return DecimalType(bare.precision, bare.scale)
    return _ICEBERG[bare]


class _Reader:
    """Iceberg's own types, read without the property."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def field(self, field: NestedField, prefix: str) -> Field:
        type_ = self._type(field.field_type, f"{prefix}{field.name}", field.name)
        return Field(field.name, type_, not field.required, doc=field.doc)

    def _type(self, type_: IcebergType, at: str, name: str) -> Type:
        match type_:
            case StructType():
                fields = tuple(self.field(inner, f"{at}.") for inner in type_.fields)
                return Record(inferred_name(name), fields)
            case ListType():
                item = self._type(type_.element_type, f"{at}[]", name)
                return Array(item, not type_.element_required)
            case MapType():
                if type_.key_type != StringType():
                    self._refuse(at, f"a map with keys of {type_.key_type}")
                value = self._type(type_.value_type, f"{at}{{}}", name)
                return Map(value, not type_.value_required)
            case FixedType():
                return unnamed_fixed(len(type_))
            case DecimalType():
                return Decimal(type_.precision, type_.scale)
        return _INFERRED.get(type_) or self._refuse(at, f"Iceberg's {type_}")

    def _refuse(self, at: str, what: str) -> Type:
        self.problems.append(f"{at}: {what} has no Avro type")
        return Primitive.STRING
