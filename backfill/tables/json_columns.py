"""Rows as JSON, a column at a time: Arrow builds the text of all rows of a batch at once.

A value is as stored, times in ISO-8601, bytes in base64. Lists, maps, decimals and times beyond the
year 9999 are written one by one.
"""

from __future__ import annotations

import datetime as dt
import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.floats import json_number, shortest
from headrace.times import DAY_US, EPOCH, MICROSECOND, format_time_us, parse_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Shorten: TypeAlias = Callable[[Any], Any]


TEXT = pa.large_string()
NULL = pa.scalar("null", TEXT)
QUOTE = pa.scalar('"', TEXT)
NOTHING = pa.scalar("", TEXT)
# What JSON does not let stand in a text as it is.
ESCAPED = r'["\\\x00-\x1f]'
FIRST_US = parse_time_us("0001-01-01")
LAST_US = parse_time_us("9999-12-31T23:59:59.999999")
encode = msgspec.json.encode


def json_objects(batch: pa.RecordBatch, extra: Iterable[tuple[str, object]] = ()) -> pa.Array:
    """Return each row as a JSON object in one line of text, with the same extra members in all."""
    constant = [f"{_name(name)}{encode(value).decode()}" for name, value in extra]
    return _objects(batch.schema.names, batch.columns, batch.num_rows, constant)


def text_bytes(lines: pa.Array) -> memoryview:
    """Return the bytes of all texts, one after the other, without a copy."""
    _, offsets, data = lines.buffers()
    if data is None or not len(lines):
        return memoryview(b"")
    ends = pa.Array.from_buffers(pa.int64(), len(lines) + 1, [None, offsets], offset=lines.offset)
    return memoryview(data)[ends[0].as_py() : ends[-1].as_py()]


def with_line_ends(objects: pa.Array) -> pa.Array:
    """Return the objects as lines."""
    return pc.binary_join_element_wise(objects, pa.scalar("\n", TEXT), NOTHING)


def _objects(
    names: Sequence[str], columns: Sequence[pa.Array], rows: int, constant: Sequence[str] = ()
) -> pa.Array:
    parts: list[pa.Array | pa.Scalar] = []
    before = "{"
    for name, column in zip(names, columns, strict=True):
        parts += [pa.scalar(before + _name(name), TEXT), _values(column)]
        before = ","
    tail = ",".join(constant)
    parts.append(pa.scalar((before if tail or not columns else "") + tail + "}", TEXT))
    if not columns:
        return pa.array([parts[0].as_py()] * rows, TEXT)
    return pc.binary_join_element_wise(*parts, NOTHING)


def _name(name: str) -> str:
    return encode(name).decode() + ":"


def _values(column: pa.Array) -> pa.Array:
    """Return each value of a column as JSON, `null` where there is none."""
    texts = _present(column)
    if not column.null_count:
        return texts
    return pc.if_else(column.is_valid(), texts, NULL)


def _present(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return column.cast(TEXT)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _strings(column)
    if pa.types.is_floating(kind):
        return _numbers(column)
    if pa.types.is_struct(kind):
        return _objects(kind.names, column.flatten(), len(column))
    if pa.types.is_timestamp(kind):
        return _times(column)
    if pa.types.is_date32(kind) and _known(column.cast(pa.timestamp("us"))):
        return _quoted(column.cast(TEXT))
    return _one_by_one(column)


def _strings(column: pa.Array) -> pa.Array:
    plain = _quoted(column.cast(TEXT))
    escaped = pc.match_substring_regex(column, ESCAPED)
    if not pc.any(escaped).as_py():
        return plain
    mask = pc.fill_null(escaped, fill_value=False)
    spelt = [encode(text).decode() for text in column.filter(mask).to_pylist()]
    return pc.replace_with_mask(plain, mask, pa.array(spelt, TEXT))


def _numbers(column: pa.Array) -> pa.Array:
    """Write numbers as Python does; one that is none, as JSON knows none, as a text."""
    values = values_of(column)
    finite = pc.is_finite(column)
    if pc.all(finite).as_py() is False:
        values = [json_number(one) if isinstance(one, float) else one for one in values]
    return pa.array(encode(values)[1:-1].decode().split(",") if values else [], TEXT)


def _times(column: pa.Array) -> pa.Array:
    times = column.cast(pa.timestamp("us", column.type.tz))
    if not _known(times):
        return _one_by_one(column)
    # Arrow's own text has a blank where ISO-8601 has a T, and is made twenty times as fast as by
    # strftime.
    text = times.cast(pa.int64()).cast(pa.timestamp("us")).cast(pa.string())
    end = pa.scalar('"' if column.type.tz is None else 'Z"', TEXT)
    iso = pc.binary_replace_slice(text, 10, 11, "T").cast(TEXT)
    return pc.binary_join_element_wise(QUOTE, iso, end, NOTHING)


def _known(times: pa.Array) -> bool:
    """Whether all these times are of years with four digits."""
    bounds = pc.min_max(times.cast(pa.int64()))
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    return low is None or (low >= FIRST_US and high <= LAST_US)


def _quoted(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(QUOTE, texts, QUOTE, NOTHING)


def _one_by_one(column: pa.Array) -> pa.Array:
    return pa.array([as_json(value) for value in values_of(column)], TEXT)


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
    """Return a value as msgspec is to write it: dates, decimals and bytes it writes by itself."""
    match value:
        case float():
            return json_number(value)
        case dt.datetime():
            if value.tzinfo is None:
                return value.isoformat(timespec="microseconds")
            return format_time_us((value - EPOCH) // MICROSECOND)
        case dict():
            return {_key(name): _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case _:
            return value


def _key(value: object) -> str:
    return value if isinstance(value, str) else as_json(value).strip('"')
