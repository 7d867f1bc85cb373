"""Rows as Arrow columns, and Arrow columns as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from headrace.records.codegen import function
from headrace.records.rows import FieldValue, Row, attribute, row_class
from headrace.schema.arrow import for_spark, to_arrow
from headrace.schema.model import Array, Map, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.schema.model import Field, Type


def arrow_schema(record: Record) -> pa.Schema:
    """Return the schema of the columns; any of them may be null, as in a bad record."""
    whole = for_spark(to_arrow(record))
    return pa.schema([pa.field(one.name, one.type, nullable=True) for one in whole])


def to_columns(rows: Sequence[Row | None], record: Record) -> list[pa.Array]:
    """Return a column per field; where there is no row, all are null."""
    return [
        _column(rows, attribute(number), field, arrow.type)
        for number, (field, arrow) in enumerate(
            zip(record.fields, arrow_schema(record), strict=True)
        )
    ]


def column_maker(record: Record, columns: pa.Schema) -> Callable[[Sequence[Row]], list[pa.Array]]:
    """Return what makes columns of rows, by their names; one that a record has no field for is null.

    The columns' types may be wider than the record's.
    """
    numbers = {field.name: number for number, field in enumerate(record.fields)}
    names: dict[str, object] = {"array": pa.array, "nulls": pa.nulls}
    made: list[str] = []
    for at, column in enumerate(columns):
        number = numbers.get(column.name)
        names[f"t{at}"] = column.type
        if number is None:
            made.append(f"nulls(len(rows), t{at}),")
            continue
        value = f"r.{attribute(number)}"
        shown = _shown(record.fields[number].type)
        if shown is not None:
            names[f"shown{at}"] = shown
            value = f"None if (v := {value}) is None else shown{at}(v)"
        made.append(f"array([{value} for r in rows], t{at}),")
    return function("columns", ["rows"], ["return [", *made, "]"], names)


def column_at(rows: pa.Table, path: str) -> pa.ChunkedArray:
    """Return a column of a table, or one inside its structs, by its dotted name."""
    first, *inside = path.split(".")
    column = rows.column(first)
    return pc.struct_field(column, inside) if inside else column


def to_rows(struct: pa.StructArray, record: Record) -> list[Row | None]:
    """Return the rows of a column of structs."""
    plain = struct.cast(_plain_type(struct.type)).to_pylist()
    make = _maker(record)
    return [None if one is None else make(one) for one in plain]


def _column(rows: Sequence[Row | None], name: str, field: Field, type_: pa.DataType) -> pa.Array:
    values = [None if row is None else getattr(row, name) for row in rows]
    shown = _shown(field.type)
    if shown is not None:
        values = [None if one is None else shown(one) for one in values]
    return pa.array(values, type=type_)


def _shown(kind: Type) -> Callable[[FieldValue], FieldValue] | None:
    """Return what makes of a value what Arrow takes; times are numbers on both sides."""
    match kind:
        case Record():
            parts = [
                (attribute(number), field.name, _shown(field.type))
                for number, field in enumerate(kind.fields)
            ]
            return lambda row: {
                name: _apply(getattr(row, attribute_name), inner)
                for attribute_name, name, inner in parts
            }
        case Array():
            item = _shown(kind.item)
            return None if item is None else lambda many: [_apply(one, item) for one in many]
        case Map():
            value = _shown(kind.value)
            return lambda many: [(name, _apply(one, value)) for name, one in many.items()]
        case _:
            return None


def _maker(kind: Record) -> Callable[[dict[str, FieldValue]], Row]:
    made = row_class(kind)
    parts = [(field.name, _read(field.type)) for field in kind.fields]
    return lambda one: made(*(_apply(one[name], inner) for name, inner in parts))


def _read(kind: Type) -> Callable[[FieldValue], FieldValue] | None:
    match kind:
        case Record():
            return _maker(kind)
        case Array():
            item = _read(kind.item)
            return None if item is None else lambda many: [_apply(one, item) for one in many]
        case Map():
            value = _read(kind.value)
            return lambda many: {name: _apply(one, value) for name, one in many}
        case _:
            return None


def _apply(value: FieldValue, change: Callable[[FieldValue], FieldValue] | None) -> FieldValue:
    return value if value is None or change is None else change(value)


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """Return the type with every time as the number that it is."""
    if is_.is_timestamp(type_):
        return pa.int64()
    if is_.is_date32(type_):
        return pa.int32()
    if is_.is_struct(type_):
        fields = [type_.field(number) for number in range(type_.num_fields)]
        return pa.struct([one.with_type(_plain_type(one.type)) for one in fields])
    if is_.is_map(type_):
        return pa.map_(_plain_type(type_.key_type), _plain_type(type_.item_type))
    if is_.is_list(type_):
        return pa.list_(_plain_type(type_.value_type))
    return type_
