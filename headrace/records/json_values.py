"""From what JSON holds to a value of the schema, for the types where that is not the same."""

from __future__ import annotations

import decimal
import math
import struct
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from headrace.formats.defaults import default_json
from headrace.records.json_wire import may_be_absent, old_names, wire_type
from headrace.records.rows import BadRecord, Row, Value, attribute
from headrace.records.times import (
    FIRST_DAY,
    LAST_DAY,
    date_of,
    in_our_years,
    instant_of,
    time_of_day_of,
    wall_clock_of,
)
from headrace.schema.model import Array, Decimal, Fixed, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from headrace.schema.model import Field, Type

Convert: TypeAlias = "Callable[[Value], Value]"
NOT_FINITE: Final = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "INF": math.inf,
    "+INF": math.inf,
    "-INF": -math.inf,
}
_EXACT: Final = decimal.Context(prec=60, traps=[decimal.Inexact, decimal.InvalidOperation])
_LARGEST: Final = {Primitive.INT: 2**31 - 1, Primitive.LONG: 2**63 - 1}
_FLOAT: Final = struct.Struct("<f")


def converter(kind: Type, coerced: Collection[str] = (), path: str = "") -> Convert | None:
    """Return what makes the schema's value of a decoded one; None where it is that already.

    `coerced` are the paths of the columns whose other forms are converted, too.
    """
    if path and path in coerced:
        return _coercion(kind)
    match kind:
        case Record():
            return _record_converter(kind, coerced, path)
        case Array():
            inner = converter(kind.item)
            return None if inner is None else _list_converter(inner)
        case Map():
            inner = converter(kind.value)
            return None if inner is None else _dict_converter(inner)
        case Fixed():
            return _fixed_converter(kind.size)
        case Decimal():
            return _decimal_converter(kind)
        case Primitive():
            return _PRIMITIVE.get(kind)
        case _:
            return None


def in_field(attribute_name: str, field: Field, convert: Convert) -> Callable[[Row, Value], None]:
    """Return what converts one field in place; what is wrong is told with the field's name."""

    def fix(row: Row, value: Value) -> None:
        try:
            setattr(row, attribute_name, convert(value))
        except BadRecord as problem:
            raise BadRecord(f"{field.name}: {problem.reason}", problem.kind) from None

    return fix


def _coercion(kind: Type) -> Convert | None:
    """Return what converts another form of a value where nothing is lost."""
    match kind:
        case Primitive.BOOLEAN:
            return _to_boolean
        case Primitive.INT | Primitive.LONG:
            largest = _LARGEST[kind]
            return lambda value: _to_integer(value, largest)
        case Primitive.FLOAT | Primitive.DOUBLE:
            after = _PRIMITIVE[kind]
            return lambda value: after(_to_float(value))
        case Primitive.STRING | Primitive.UUID:
            return _to_text
        case _:
            return converter(kind)


def _record_converter(record: Record, coerced: Collection[str], path: str) -> Convert | None:
    missing = [
        (attribute(number), default_of(field))
        for number, field in enumerate(record.fields)
        if fills_in(field)
    ]
    steps = [
        (attribute(number), in_field(attribute(number), field, convert))
        for number, field in enumerate(record.fields)
        if (convert := converter(field.type, coerced, f"{path}.{field.name}")) is not None
    ]
    settle = settler(record)
    if not missing and not steps and settle is None:
        return None

    def convert_all(row: Row) -> Row:
        if settle is not None:
            settle(row)
        for name, fix in steps:
            value = getattr(row, name)
            if value is not None:
                fix(row, value)
        for name, default in missing:
            if getattr(row, name) is None:
                setattr(row, name, default())
        return row

    return convert_all


def settler(record: Record) -> Callable[[Row], None] | None:
    """Return what moves values that came under a field's old name; None where no field has one."""
    moves = [
        (attribute(number), tuple(olds), record.fields[number])
        for number, olds in old_names(record).items()
    ]
    if not moves:
        return None

    def settle(row: Row) -> None:
        for name, olds, field in moves:
            if getattr(row, name) is None:
                came = (value for old in olds if (value := getattr(row, old)) is not None)
                value = next(came, None)
                if value is None and not may_be_absent(field):
                    raise BadRecord(f"{field.name} is missing")
                setattr(row, name, value)

    return settle


def fills_in(field: Field) -> bool:
    """Whether a missing value is the schema's to give."""
    return field.default is not None and not field.nullable


def default_of(field: Field) -> Callable[[], Value]:
    """Return what makes the default of a field, a fresh one each time."""
    decoder = msgspec.json.Decoder(wire_type(field.type))
    text, convert = default_json(field), converter(field.type)

    def make() -> Value:
        value = decoder.decode(text)
        return value if convert is None else convert(value)

    return make


def _list_converter(inner: Convert) -> Convert:
    return lambda values: [None if one is None else inner(one) for one in values]


def _dict_converter(inner: Convert) -> Convert:
    return lambda values: {
        name: None if one is None else inner(one) for name, one in values.items()
    }


def _fixed_converter(size: int) -> Convert:
    def convert(value: bytes) -> bytes:
        if len(value) != size:
            raise BadRecord(f"{len(value)} bytes where {size} belong")
        return value

    return convert


def _decimal_converter(kind: Decimal) -> Convert:
    step = decimal.Decimal(1).scaleb(-kind.scale)
    context = decimal.Context(prec=kind.precision, traps=_EXACT.traps.copy())

    def convert(value: decimal.Decimal) -> decimal.Decimal:
        try:
            return value.quantize(step, context=context)
        except decimal.DecimalException:
            raise BadRecord(f"no decimal({kind.precision}, {kind.scale}): {value:.40}") from None

    return convert


def _float(value: Value) -> float:
    number = _double(value)
    try:
        rounded: float = _FLOAT.unpack(_FLOAT.pack(number))[0]
    except OverflowError:
        raise BadRecord(f"no float: {number}") from None
    return rounded


def _double(value: Value) -> float:
    if value.__class__ is float:
        return float(value)
    if value in NOT_FINITE:
        return NOT_FINITE[value]
    raise BadRecord(f"no number: {value[:40]}")


def _instant(units_us: int) -> Convert:
    return lambda value: instant_of(value) if value.__class__ is str else _number(value, units_us)


def _wall_clock(units_us: int) -> Convert:
    return lambda value: (
        wall_clock_of(value) if value.__class__ is str else _number(value, units_us)
    )


def _number(value: int, units_us: int) -> int:
    micros = value * units_us
    if not in_our_years(micros):
        raise BadRecord(f"beyond the years 0001 to 9999: {value}")
    return micros


def _date(value: Value) -> int:
    if value.__class__ is str:
        return date_of(value)
    if not FIRST_DAY <= value <= LAST_DAY:
        raise BadRecord(f"beyond the years 0001 to 9999: {value}")
    return int(value)


def _time(units_us: int) -> Convert:
    day = 86_400_000_000 // units_us

    def convert(value: Value) -> int:
        units = time_of_day_of(value) // units_us if value.__class__ is str else int(value)
        if not 0 <= units < day:
            raise BadRecord(f"no time of day: {value}")
        return units

    return convert


def _to_boolean(value: Value) -> bool:
    if value.__class__ is bool:
        return bool(value)
    known = {"true": True, "false": False, 1: True, 0: False, "1": True, "0": False}
    found = known.get(value.strip().lower() if isinstance(value, str) else value)
    if found is None:
        raise BadRecord(f"no boolean: {str(value)[:40]}")
    return found


def _to_integer(value: Value, largest: int) -> int:
    try:
        number = int(value)
    except (ValueError, OverflowError):
        raise BadRecord(f"no whole number: {str(value)[:40]}") from None
    if isinstance(value, float) and number != value:
        raise BadRecord(f"no whole number: {value}")
    if not -largest - 1 <= number <= largest:
        raise BadRecord(f"too large a number: {str(value)[:40]}")
    return number


def _to_float(value: Value) -> Value:
    if isinstance(value, str) and value not in NOT_FINITE:
        try:
            return float(value)
        except ValueError:
            raise BadRecord(f"no number: {value[:40]}") from None
    return value


def _to_text(value: Value) -> str:
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


_PRIMITIVE: Final[dict[Primitive, Convert]] = {
    Primitive.FLOAT: _float,
    Primitive.DOUBLE: _double,
    Primitive.DATE: _date,
    Primitive.TIME_MILLIS: _time(1_000),
    Primitive.TIME_MICROS: _time(1),
    Primitive.TIMESTAMP_MILLIS: _instant(1_000),
    Primitive.TIMESTAMP_MICROS: _instant(1),
    Primitive.LOCAL_TIMESTAMP_MILLIS: _wall_clock(1_000),
    Primitive.LOCAL_TIMESTAMP_MICROS: _wall_clock(1),
}
