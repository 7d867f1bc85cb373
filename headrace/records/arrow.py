"""Rows as Arrow columns, and Arrow columns as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from headrace.records.codegen import function
from headrace.records.parts import as_objects, each_item
from headrace.records.rows import FieldValue, Row, attribute, row_class
from headrace.schema.arrow import for_spark, to_arrow, with_leaves
from headrace.schema.model import Array, Map, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.records.parts import Change
    from headrace.schema.model import Type


def arrow_schema(record: Record) -> pa.Schema:
    """Return the schema of the columns; any of them may be null, as in a bad record."""
    whole = for_spark(to_arrow(record))
    return pa.schema([pa.field(one.name, one.type, nullable=True) for one in whole])


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
        shown = as_objects(record.fields[number].type, {})
        if shown is not None:
            names[f"shown{at}"] = shown
            value = f"None if (v := {value}) is None else shown{at}(v)"
        made.append(f"array([{value} for r in rows], t{at}),")
    return function("columns", ["rows"], ["return [", *made, "]"], names)


def column_at(rows: pa.Table | pa.RecordBatch, path: str) -> pa.ChunkedArray | pa.Array:
    """Return a column of rows, or one inside its structs, by its dotted name."""
    first, *inside = path.split(".")
    column = rows.column(first)
    return pc.struct_field(column, inside) if inside else column


def times_of(rows: pa.Table | pa.RecordBatch, path: str) -> pa.Int64Array:
    """Return the times of a column in microseconds; dots lead into a struct."""
    times = column_at(rows, path)
    return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())


def to_rows(struct: pa.StructArray, record: Record) -> list[Row | None]:
    """Return the rows of a column of structs."""
    plain = struct.cast(with_leaves(struct.type, _number)).to_pylist()
    make = _maker(record)
    return [None if one is None else make(one) for one in plain]


def _maker(kind: Record) -> Callable[[dict[str, FieldValue]], Row]:
    made = row_class(kind)
    parts = [(field.name, _read(field.type)) for field in kind.fields]
    return lambda one: made(
        *(
            value if change is None or value is None else change(value)
            for name, change in parts
            for value in (one[name],)
        )
    )


def _read(kind: Type) -> Change | None:
    match kind:
        case Record():
            return _maker(kind)
        case Array():
            inner = _read(kind.item)
            return inner and each_item(kind, inner)
        case Map():
            inner = _read(kind.item)
            if inner is None:
                return dict
            change = each_item(kind, inner)
            return lambda pairs: change(dict(pairs))
    return None


def _number(type_: pa.DataType) -> pa.DataType:
    """Return the type of the number that a time is."""
    if is_.is_timestamp(type_):
        return pa.int64()
    return pa.int32() if is_.is_date32(type_) else type_
