"""A value of the lake as JSON: as stored, times in ISO-8601, bytes in base64."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import uuid
import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import pyarrow as pa

from headrace.floats import json_number, shortest
from headrace.times import DAY_US, EPOCH, MICROSECOND, format_time_us

if TYPE_CHECKING:
    from collections.abc import Callable

    # What is null stays null.
    Shorten: TypeAlias = Callable[[Any], Any]


def as_json(value: object) -> str:
    """Return a value as JSON text."""
    return msgspec.json.encode(_plain(value)).decode()


def values_of(column: pa.Array) -> list[object]:
    """Return a column's values; maps as dictionaries, the last of a key that is there twice."""
    with warnings.catch_warnings(action="ignore"):
        try:
            values: list[object] = column.to_pylist(maps_as_pydicts="lossy")
        except (OverflowError, ValueError):
            # A time that Python's datetime does not know, of a clock that lies.
            values = [_value(scalar) for scalar in column]
    shorten = _shortener(column.type)
    return values if shorten is None else [shorten(value) for value in values]


def _shortener(kind: pa.DataType) -> Shorten | None:
    """Return what gives floats of 32 bits, within a value too, the digits they were written with."""
    if pa.types.is_float32(kind):
        return lambda value: None if value is None else shortest(value)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        item = _shortener(kind.value_type)
        return item and (lambda many: many and [item(one) for one in many])
    if pa.types.is_map(kind):
        inner = _shortener(kind.item_type)
        return inner and (lambda many: many and {key: inner(one) for key, one in many.items()})
    if pa.types.is_struct(kind):
        fields = {one.name: short for one in kind if (short := _shortener(one.type))}
        return (
            (lambda row: row and {**row, **{n: fields[n](row[n]) for n in fields}})
            if fields
            else None
        )
    return None


def _value(scalar: pa.Scalar) -> object:
    """Return a scalar's value, its times as text."""
    if not scalar.is_valid:
        return None
    match scalar:
        case pa.StructScalar():
            return {name: _value(inner) for name, inner in scalar.items()}
        case pa.MapScalar():
            keys, values = scalar.values.field(0), scalar.values.field(1)
            return {k.as_py(): _value(v) for k, v in zip(keys, values, strict=True)}
        case pa.ListScalar() | pa.LargeListScalar():
            return [_value(inner) for inner in scalar.values]
        case pa.TimestampScalar():
            micros = scalar.cast(pa.timestamp("us", scalar.type.tz)).value
            text = format_time_us(micros)
            return text if scalar.type.tz else text.removesuffix("Z")
        case pa.Date32Scalar():
            return format_time_us(scalar.value * DAY_US).partition("T")[0]
        case _:
            return scalar.as_py()


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return json_number(value)
        case dt.datetime():
            if value.tzinfo is None:
                return value.isoformat(timespec="microseconds")
            return format_time_us((value - EPOCH) // MICROSECOND)
        case dt.date() | dt.time():
            return value.isoformat()
        case decimal.Decimal() | uuid.UUID():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {_key(name): _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case _:
            return str(value)


def _key(value: object) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()
