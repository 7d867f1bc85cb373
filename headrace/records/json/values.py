"""From what JSON holds to a value of the schema, for the types where that is not the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import UNSET

from headrace.floats import single
from headrace.records.codegen import function
from headrace.records.defaults import default_of
from headrace.records.json_forms import NOT_FINITE
from headrace.records.json_wire import may_be_absent, may_be_unset, old_names
from headrace.records.rows import BadRecord, Row, Value, attribute
from headrace.records.times import (
    date_of,
    in_our_years,
    instant_of,
    plain_instant,
    time_of_day_of,
    wall_clock_of,
)
from headrace.schema.model import Array, Fixed, Map, Primitive, Record
from headrace.times import FIRST_DAY, LAST_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.schema.model import Field, Type

Convert: TypeAlias = "Callable[[Value], Value]"
_INSTANTS: Final = (Primitive.TIMESTAMP_MILLIS, Primitive.TIMESTAMP_MICROS)


def fixes(record: Record) -> tuple[list[str], dict[str, object]]:
    """Return the lines that make the schema's values of a decoded `row`, and what they use."""
    lines: list[str] = []
    names: dict[str, object] = {"plain": plain_instant, "UNSET": UNSET}
    olds = old_names(record)
    settle = _settler(record, olds)
    if settle is not None:
        names["settle"] = settle
        lines.append("settle(row)")
    for number, field in enumerate(record.fields):
        name = attribute(number)
        cases: list[str] = []
        convert = _converter(field.type)
        if field.type in _INSTANTS:
            # Read right here: the calls to it would take as long again.
            plainly = "found.__class__ is str and (instant := plain(found)) is not None"
            cases.append(f"if {plainly}: row.{name} = instant")
        if may_be_unset(field, olds.get(number)) and may_be_absent(field):
            names[f"default{number}"] = default_of(field)
            missing = "found is UNSET" if field.nullable else "found is UNSET or found is None"
            cases.append(f"if {missing}: row.{name} = default{number}()")
        if convert is not None:
            names[f"fix{number}"] = _in_field(name, field, convert)
            cases.append(f"if found is not None: fix{number}(row, found)")
        if cases:
            lines += [f"found = row.{name}", cases[0], *(f"el{case}" for case in cases[1:])]
    return lines, names


def _converter(kind: Type) -> Convert | None:
    """Return what makes the schema's value of a decoded one; None where it is that already."""
    match kind:
        case Record():
            lines, names = fixes(kind)
            return function("fix_record", ["row"], [*lines, "return row"], names) if lines else None
        case Array():
            inner = _converter(kind.item)
            return None if inner is None else _list_converter(inner)
        case Map():
            inner = _converter(kind.value)
            return None if inner is None else _dict_converter(inner)
        case Fixed():
            return _fixed_converter(kind.size)
        case Primitive():
            return _PRIMITIVE.get(kind)
        case _:
            return None


def _in_field(attribute_name: str, field: Field, convert: Convert) -> Callable[[Row, Value], None]:
    """Return what converts one field in place; what is wrong is told with the field's name."""

    def fix(row: Row, value: Value) -> None:
        try:
            setattr(row, attribute_name, convert(value))
        except BadRecord as problem:
            raise BadRecord(f"{field.name}: {problem.reason}", problem.kind) from None

    return fix


def _settler(record: Record, olds: Mapping[int, Mapping[str, str]]) -> Callable[[Row], None] | None:
    """Return what moves values that came under a field's old name; None where no field has one."""
    if not olds:
        return None
    moves = [(attribute(number), tuple(own), record.fields[number]) for number, own in olds.items()]

    def settle(row: Row) -> None:
        for name, own, field in moves:
            if getattr(row, name) is not UNSET:
                continue
            found = next((value for old in own if (value := getattr(row, old)) is not UNSET), UNSET)
            if found is UNSET and not may_be_absent(field):
                raise BadRecord(f"{field.name} is missing")
            setattr(row, name, found)

    return settle


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


def _float(value: Value) -> float:
    number = _double(value)
    try:
        return single(number)
    except OverflowError:
        raise BadRecord(f"no float: {number}") from None


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
