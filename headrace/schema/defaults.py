"""A field's default as a value of a row; a default that does not fit its type is refused."""

from __future__ import annotations

import decimal
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.floats import single
from headrace.schema.avro_words import is_integer
from headrace.schema.model import Array, Decimal, Enumeration, Fixed, Map, Primitive, Record
from headrace.times import DAY_US, FIRST_DAY, FIRST_US, LAST_DAY, LAST_US

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.schema.model import Field, Type

_EXACT: Final = decimal.Context(prec=60)
_IN_MILLISECONDS: Final = (Primitive.TIMESTAMP_MILLIS, Primitive.LOCAL_TIMESTAMP_MILLIS)
_OF_TEXT: Final = (Primitive.STRING, Primitive.UUID)
_FLOATING: Final = (Primitive.FLOAT, Primitive.DOUBLE)
# The least and the greatest value as records hold it: points in time are in microseconds.
LIMITS: Final[Mapping[Primitive, tuple[int, int]]] = {
    Primitive.INT: (-(2**31), 2**31 - 1),
    Primitive.LONG: (-(2**63), 2**63 - 1),
    Primitive.DATE: (FIRST_DAY, LAST_DAY),
    Primitive.TIME_MILLIS: (0, DAY_US // 1000 - 1),
    Primitive.TIME_MICROS: (0, DAY_US - 1),
    Primitive.TIMESTAMP_MILLIS: (FIRST_US, LAST_US),
    Primitive.TIMESTAMP_MICROS: (FIRST_US, LAST_US),
    Primitive.LOCAL_TIMESTAMP_MILLIS: (FIRST_US, LAST_US),
    Primitive.LOCAL_TIMESTAMP_MICROS: (FIRST_US, LAST_US),
}


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """A default that is a record: its values in the order of the fields."""

    record: Record
    values: tuple[object, ...]


def held_default(field: Field) -> object:
    """Return the default, null where the field has none; ValueError where it does not fit."""
    value = None if field.default is None else json.loads(field.default)
    try:
        return _held(field.type, field.nullable, value)
    except (KeyError, ArithmeticError) as error:
        raise ValueError(value) from error


def problem_of(field: Field) -> str | None:
    """Return what is wrong with the default of a field; None where nothing is, or there is none."""
    if field.default is None:
        return None
    try:
        held_default(field)
    except ValueError:
        problem = f"its default {field.default} is not a value of its type"
        if isinstance(field.type, Decimal | Fixed) or field.type is Primitive.BYTES:
            # What is written most often is a number, or base64.
            return rf"{problem} (Avro writes bytes as a text of \u0000 to \u00ff, decimals too)"
        return problem
    return None


def _held(kind: Type, nullable: bool, value: object) -> object:
    if value is None and nullable:
        return None
    match kind, value:
        case Record(), dict():
            return HeldRecord(kind, tuple(_of_field(field, value) for field in kind.fields))
        case Array(), list():
            return [_held(kind.item, kind.item_nullable, one) for one in value]
        case Map(), dict():
            return {name: _held(kind.item, kind.item_nullable, one) for name, one in value.items()}
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
    return held_default(field)


def _of_bytes(kind: Fixed | Decimal, value: bytes) -> object:
    fixed = kind if isinstance(kind, Fixed) else kind.fixed
    if len(value) != fixed.size if fixed else not value:
        raise ValueError(value)
    if isinstance(kind, Fixed):
        return value
    unscaled = int.from_bytes(value, "big", signed=True)
    if abs(unscaled) >= 10**kind.precision:
        raise ValueError(value)
    return decimal.Decimal(unscaled).scaleb(-kind.scale, _EXACT)


def _primitive(kind: Primitive, value: object) -> object:
    if isinstance(value, str) and kind is Primitive.BYTES:
        return value.encode("latin-1")
    if isinstance(value, str) and kind in _OF_TEXT:
        return value
    if isinstance(value, bool) and kind is Primitive.BOOLEAN:
        return value
    if kind in _FLOATING and (is_integer(value) or isinstance(value, float)):
        number = single(float(value)) if kind is Primitive.FLOAT else float(value)
        if math.isfinite(number):
            return number
    if not is_integer(value) or kind not in LIMITS:
        raise ValueError(value)
    held = value * 1000 if kind in _IN_MILLISECONDS else value
    least, most = LIMITS[kind]
    if not least <= held <= most:
        raise ValueError(value)
    return held
