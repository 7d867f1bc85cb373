"""What a field is where its record was written without it: the default, as it is held."""

from __future__ import annotations

import decimal
import json
from typing import TYPE_CHECKING, Final

import msgspec

from headrace.records.avro_source import EXACT, Names
from headrace.records.codegen import function
from headrace.records.floats import single
from headrace.records.rows import attribute, row_class
from headrace.records.times import DAY_S, FIRST_DAY, FIRST_US, LAST_DAY, LAST_US, SECOND_US
from headrace.schema.avro_words import is_integer
from headrace.schema.model import Array, Decimal, Enumeration, Fixed, Map, Primitive, Record
from headrace.schema.refused import SchemaRefused
from headrace.schema.rules import short_name, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.records.rows import Value
    from headrace.schema.model import Field, Type

_IN_MILLISECONDS: Final = (Primitive.TIMESTAMP_MILLIS, Primitive.LOCAL_TIMESTAMP_MILLIS)
_OF_TEXT: Final = (Primitive.STRING, Primitive.UUID)
_FLOATING: Final = (Primitive.FLOAT, Primitive.DOUBLE)
_DAY_US: Final = DAY_S * SECOND_US
_LIMITS: Final = {
    Primitive.INT: (-(2**31), 2**31 - 1),
    Primitive.LONG: (-(2**63), 2**63 - 1),
    Primitive.DATE: (FIRST_DAY, LAST_DAY),
    Primitive.TIME_MILLIS: (0, _DAY_US // 1000 - 1),
    Primitive.TIME_MICROS: (0, _DAY_US - 1),
    **dict.fromkeys(_IN_MILLISECONDS, (FIRST_US // 1000, LAST_US // 1000)),
    Primitive.TIMESTAMP_MICROS: (FIRST_US, LAST_US),
    Primitive.LOCAL_TIMESTAMP_MICROS: (FIRST_US, LAST_US),
}


def default_of(field: Field) -> Callable[[], Value]:
    """Return what makes the field's default, null where it has none."""
    names = Names()
    source = default_source(field, field.name, names)
    return function("default", [], [f"return {source}"], names.objects)


def default_source(field: Field, path: str, names: Names) -> str:
    """Return an expression for the field's default, made anew each time: nobody shares a list."""
    value = json.loads(field.default) if field.default is not None else None
    try:
        held = _held(field.type, field.nullable, value)
    except (ValueError, TypeError, KeyError, decimal.DecimalException):
        reason = f"{path}: its default {field.default} is no value of its type"
        raise SchemaRefused("Avro schema", [reason]) from None
    return _fresh(held, names)


def check_defaults(record: Record) -> None:
    """Raise SchemaRefused where a default anywhere in the record is no value of its field."""
    for path, node in walk(short_name(record.name), record):
        for field in node.fields if isinstance(node, Record) else ():
            if field.default is not None:
                default_source(field, f"{path}.{field.name}", Names())


def _held(kind: Type, nullable: bool, value: object) -> object:
    if value is None and nullable:
        return None
    match kind, value:
        case Record(), dict():
            return row_class(kind)(*(_of_field(field, value) for field in kind.fields))
        case Array(), list():
            return [_held(kind.item, kind.item_nullable, one) for one in value]
        case Map(), dict():
            return {
                name: _held(kind.value, kind.value_nullable, one) for name, one in value.items()
            }
        case Enumeration(), str() if value in kind.symbols:
            return value
        case ((Fixed() | Decimal()), str()):
            return _of_bytes(kind, value.encode("latin-1"))
        case Primitive(), _:
            return _primitive(kind, value)
    raise ValueError(value)


def _of_field(field: Field, record: Mapping[str, object]) -> object:
    if field.name in record:
        return _held(field.type, field.nullable, record[field.name])
    if field.default is None:
        raise KeyError(field.name)
    return _held(field.type, field.nullable, json.loads(field.default))


def _of_bytes(kind: Fixed | Decimal, value: bytes) -> object:
    fixed = kind if isinstance(kind, Fixed) else kind.fixed
    if len(value) != fixed.size if fixed else not value:
        raise ValueError(value)
    if isinstance(kind, Fixed):
        return value
    unscaled = int.from_bytes(value, "big", signed=True)
    if abs(unscaled) >= 10**kind.precision:
        raise ValueError(value)
    return decimal.Decimal(unscaled).scaleb(-kind.scale, EXACT)


def _primitive(kind: Primitive, value: object) -> object:
    if isinstance(value, str) and kind is Primitive.BYTES:
        return value.encode("latin-1")
    if isinstance(value, str) and kind in _OF_TEXT:
        return value
    if isinstance(value, bool) and kind is Primitive.BOOLEAN:
        return value
    if kind in _FLOATING and (is_integer(value) or isinstance(value, float)):
        return single(float(value)) if kind is Primitive.FLOAT else float(value)
    least, most = _LIMITS.get(kind, (0, -1))
    if not is_integer(value) or not least <= value <= most:
        raise ValueError(value)
    return value * 1000 if kind in _IN_MILLISECONDS else value


def _fresh(value: object, names: Names) -> str:
    match value:
        case list():
            return f"[{', '.join(_fresh(one, names) for one in value)}]"
        case dict():
            pairs = (f"{names.name(key)}: {_fresh(one, names)}" for key, one in value.items())
            return f"{{{', '.join(pairs)}}}"
        case msgspec.Struct():
            inside = (getattr(value, attribute(n)) for n in range(len(value.__struct_fields__)))
            return f"{names.name(type(value))}({', '.join(_fresh(one, names) for one in inside)})"
    return names.name(value)
