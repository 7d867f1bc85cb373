"""Values of JSON to values of the schema, for the types where they differ."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from msgspec import UNSET

from headrace.floats import single
from headrace.records.codegen import function
from headrace.records.json.conversions import NOT_FINITE
from headrace.records.json.wire import may_be_absent, may_be_unset, old_names
from headrace.records.parts import each_item
from headrace.records.rows import BadRecord, FieldValue, Row, attribute, default_of
from headrace.records.times import date_of, instant_of, plain_instant, time_of_day_of, wall_clock_of
from headrace.schema.defaults import LIMITS
from headrace.schema.model import Fixed, Many, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.records.parts import Change
    from headrace.schema.model import Field, Type

_BEYOND: Final = "beyond the years 0001 to 9999"
_NO_TIME_OF_DAY: Final = "no time of day"
_INSTANTS: Final = (Primitive.TIMESTAMP_MILLIS, Primitive.TIMESTAMP_MICROS)


def fixes(record: Record) -> tuple[list[str], dict[str, object]]:
    """Return the lines that make the schema's values of a decoded `row`, and what they use."""
    lines: list[str] = []
    names: dict[str, object] = {"plain": plain_instant, "UNSET": UNSET}
    olds = old_names(record)
    for number, own in olds.items():
        name, field = attribute(number), record.fields[number]
        # What came under an old name: the first one that is there.
        lines += [f"if row.{name} is UNSET: row.{name} = row.{old}" for old in own]
        if not may_be_absent(field):
            names[f"absent{number}"] = partial(_absent, field.name)
            lines.append(f"if row.{name} is UNSET: absent{number}()")
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


def _converter(kind: Type) -> Change | None:
    """Return what makes the schema's value of a decoded one; None where it is that already."""
    match kind:
        case Record():
            lines, names = fixes(kind)
            return function("fix_record", ["row"], [*lines, "return row"], names) if lines else None
        case Many():
            inner = _converter(kind.item)
            return inner and each_item(kind, inner)
        case Fixed():
            return _fixed_converter(kind.size)
        case Primitive():
            return _PRIMITIVE.get(kind)
        case _:
            return None


def _in_field(
    attribute_name: str, field: Field, convert: Change
) -> Callable[[Row, FieldValue], None]:
    """Return what converts one field in place; an error begins with the field's name."""

    def fix(row: Row, value: FieldValue) -> None:
        try:
            setattr(row, attribute_name, convert(value))
        except BadRecord as problem:
            raise BadRecord(f"{field.name}: {problem.reason}", problem.kind) from None

    return fix


def _absent(name: str) -> NoReturn:
    raise BadRecord(f"{name} is missing")


def _fixed_converter(size: int) -> Change:
    def convert(value: bytes) -> bytes:
        if len(value) != size:
            raise BadRecord(f"{len(value)} bytes instead of {size}")
        return value

    return convert


def _float(value: FieldValue) -> float:
    number = _double(value)
    try:
        return single(number)
    except OverflowError:
        raise BadRecord(f"no float: {number}") from None


def _double(value: FieldValue) -> float:
    if value.__class__ is float:
        return float(value)
    if value in NOT_FINITE:
        return NOT_FINITE[value]
    raise BadRecord(f"no number: {value[:40]}")


def _point(
    kind: Primitive, of_text: Callable[[str], int], units_us: int = 1, problem: str = _BEYOND
) -> Change:
    """Return what reads a point in time from its text, or from its number of units."""
    least, most = LIMITS[kind]

    def convert(value: FieldValue) -> int:
        if value.__class__ is str:
            return of_text(value)
        held: int = value * units_us
        if not least <= held <= most:
            raise BadRecord(f"{problem}: {value}")
        return held

    return convert


def _millis_of_day(text: str) -> int:
    return time_of_day_of(text) // 1000


_PRIMITIVE: Final[dict[Primitive, Change]] = {
    Primitive.FLOAT: _float,
    Primitive.DOUBLE: _double,
    Primitive.DATE: _point(Primitive.DATE, date_of),
    Primitive.TIME_MILLIS: _point(Primitive.TIME_MILLIS, _millis_of_day, problem=_NO_TIME_OF_DAY),
    Primitive.TIME_MICROS: _point(Primitive.TIME_MICROS, time_of_day_of, problem=_NO_TIME_OF_DAY),
    Primitive.TIMESTAMP_MILLIS: _point(Primitive.TIMESTAMP_MILLIS, instant_of, 1_000),
    Primitive.TIMESTAMP_MICROS: _point(Primitive.TIMESTAMP_MICROS, instant_of),
    Primitive.LOCAL_TIMESTAMP_MILLIS: _point(
        Primitive.LOCAL_TIMESTAMP_MILLIS, wall_clock_of, 1_000
    ),
    Primitive.LOCAL_TIMESTAMP_MICROS: _point(Primitive.LOCAL_TIMESTAMP_MICROS, wall_clock_of),
}
