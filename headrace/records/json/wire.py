"""The types of JSON that belong to a schema, and what makes the schema's values of theirs.

msgspec checks the types while it decodes.
"""

from __future__ import annotations

from functools import partial
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn

import msgspec
from msgspec import UNSET, Meta

from headrace.floats import single
from headrace.records.codegen import function
from headrace.records.json.conversions import NOT_FINITE, form_of
from headrace.records.parts import each_item
from headrace.records.rows import BadRecord, FieldValue, Row, attribute, default_of
from headrace.records.time_lines import leaving_lines, reading_lines
from headrace.records.times import date_of, instant_of, instant_text, time_of_day_of, wall_clock_of
from headrace.schema.defaults import LIMITS
from headrace.schema.model import INSTANTS, Array, Enumeration, Fixed, Many, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from headrace.records.parts import Change
    from headrace.schema.model import Field, Type

# Types as values: a checker cannot follow them.
Wire = Any

_PLAIN: Final[dict[Type, Wire]] = {
    Primitive.BOOLEAN: bool,
    Primitive.INT: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)],
    Primitive.LONG: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
    # JSON has no word for what is no number: it comes as text, as Spark and we write it.
    Primitive.FLOAT: float | str,
    Primitive.DOUBLE: float | str,
    Primitive.BYTES: bytes,
    Primitive.STRING: str,
    Primitive.UUID: str,
}


_BEYOND: Final = "beyond the years 0001 to 9999"
_NO_TIME_OF_DAY: Final = "no time of day"


def wire_class(
    record: Record, coerced: Collection[str] = (), *, refuses_unknown: bool = False, at: str = ""
) -> type[msgspec.Struct]:
    """Return the class that a JSON object of that schema is decoded to.

    What is not there and has a default, or an old name, is UNSET until `fixes` are done.
    `coerced` are the paths of the columns whose other forms are to be converted afterwards.
    """
    fields: list[Any] = []
    names = {attribute(number): field.name for number, field in enumerate(record.fields)}
    olds = old_names(record)
    for number, field in enumerate(record.fields):
        path = f"{at}{field.name}"
        if isinstance(field.type, Record):
            wire: Wire = wire_class(
                field.type, coerced, refuses_unknown=refuses_unknown, at=f"{path}."
            )
        else:
            wire = wire_type(field.type, refuses_unknown, convertible=path in coerced)
        if may_be_absent(field):
            wire = wire | None
        if may_be_unset(field, olds.get(number)):
            fields.append((attribute(number), wire, UNSET))
        elif field.nullable:
            fields.append((attribute(number), wire, None))
        else:
            fields.append((attribute(number), wire))
        for old, name in olds.get(number, {}).items():
            fields.append((old, wire, UNSET))
            names[old] = name
    return msgspec.defstruct(
        "Row", fields, rename=names, kw_only=True, gc=False, forbid_unknown_fields=refuses_unknown
    )


def wire_type(kind: Type, refuses_unknown: bool = False, *, convertible: bool = False) -> Wire:
    """Return the type of one value."""
    form = form_of(kind, convertible=convertible)
    if form is not None:
        return form
    match kind:
        case Record():
            return wire_class(kind, refuses_unknown=refuses_unknown)
        case Array():
            item = wire_type(kind.item, refuses_unknown)
            return GenericAlias(list, (item | None if kind.item_nullable else item,))
        case Map():
            value = wire_type(kind.item, refuses_unknown)
            return GenericAlias(dict, (str, value | None if kind.item_nullable else value))
        case Enumeration():
            return Literal[kind.symbols]
        case Fixed():
            return bytes
        case _:
            # Points in time come as text or as a number alike.
            return _PLAIN.get(kind, int | str)


def may_be_absent(field: Field) -> bool:
    """Whether a record may lack the field, or hold null."""
    return field.nullable or field.default is not None


def may_be_unset(field: Field, olds: Collection[str] | None) -> bool:
    """Whether a field that is absent differs from one that is null."""
    return bool(olds) or field.default not in {None, "null"}


def old_names(record: Record) -> dict[int, dict[str, str]]:
    """Return under which attributes the values of fields arrive that still have an old name.

    By the number of the field: the attribute, and the alias that it stands for. As in Avro, a
    name that a field has now is nobody's old one.
    """
    taken = {field.name for field in record.fields}
    found: dict[int, dict[str, str]] = {}
    for number, field in enumerate(record.fields):
        for alias in field.aliases:
            if alias not in taken:
                taken.add(alias)
                own = found.setdefault(number, {})
                own[f"{attribute(number)}_{len(own)}"] = alias
    return found


def fixes(record: Record, texts: Collection[str] = ()) -> tuple[list[str], dict[str, object]]:
    """Return the lines that make the schema's values of a decoded `row`, and what they use.

    Of the fields that `texts` names, which are instants without a default, they leave the text.
    """
    lines: list[str] = []
    names: dict[str, object] = {"UNSET": UNSET}
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
        convert = _converter(field.type)
        fix = f"fix{number}(row, found)"
        cases: list[str] = []
        if field.type in INSTANTS and convert is not None:
            # Read right here: the calls to it would take as long again.
            read = reading_lines(name)
            if field.name in texts:
                read, convert = leaving_lines(fix), _then(convert, instant_text)
            names |= read.names
            cases += read.lines
        if may_be_unset(field, olds.get(number)) and may_be_absent(field):
            names[f"default{number}"] = default_of(field)
            missing = "found is UNSET" if field.nullable else "found is UNSET or found is None"
            cases.append(f"{'elif' if cases else 'if'} {missing}: row.{name} = default{number}()")
        if convert is not None:
            names[f"fix{number}"] = _in_field(name, field, convert)
            cases.append(f"{'elif' if cases else 'if'} found is not None: {fix}")
        if cases:
            lines += [f"found = row.{name}", *cases]
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


def _then(first: Change, second: Change) -> Change:
    return lambda value: second(first(value))


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
