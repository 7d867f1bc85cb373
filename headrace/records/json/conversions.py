"""Values that JSON may hold in several forms: decimals, and columns that are converted.

They are read from the digits as written, for a float has already lost some of them.
"""

from __future__ import annotations

import decimal
import math
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.floats import single
from headrace.schema.model import Decimal, Primitive

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.records.rows import FieldValue
    from headrace.schema.model import Type

    Read: TypeAlias = Callable[[FieldValue], FieldValue]

NOT_FINITE: Final = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "INF": math.inf,
    "+INF": math.inf,
    "-INF": -math.inf,
}
_NUMBER: Final = re.compile(
    r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+", re.ASCII
).fullmatch
_WHOLE: Final = {Primitive.INT: 2**31, Primitive.LONG: 2**63}
_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False}
_BLANKS: Final = " \t\n\r\f\v"
_KINDS: Final = {type(None): "null", bool: "bool", list: "array", dict: "object"}


class Number(str):
    """The digits of a number that JSON holds with a point or an exponent."""

    __slots__ = ()


class _Anything(type):
    def __instancecheck__(cls, _value: object) -> bool:
        # msgspec holds what `read` returns against the type, and has no need to.
        return True


class Form(metaclass=_Anything):
    """What msgspec takes for a type whose values it leaves to `read` of a subclass."""

    read: Read


def read_form(form: type[Form], value: FieldValue) -> FieldValue:
    """Return the value of a form; ValueError or TypeError says why not, and msgspec adds where."""
    return form.read(value)


def form_of(kind: Type, *, convertible: bool) -> type[Form] | None:
    """Return the form that values of that type come in; None where they come in one only."""
    read = _decimal(kind) if isinstance(kind, Decimal) else None
    if convertible and isinstance(kind, Primitive):
        read = _CONVERSIONS.get(kind)
    return None if read is None else type("Form", (Form,), {"read": staticmethod(read)})


def _decimal(kind: Decimal) -> Read:
    step = decimal.Decimal(1).scaleb(-kind.scale)
    # Spark and Avro know no negative zero.
    zero = decimal.Decimal(0).scaleb(-kind.scale)
    traps = [decimal.Inexact, decimal.InvalidOperation]
    context = decimal.Context(prec=kind.precision, traps=traps)

    def read(value: FieldValue) -> decimal.Decimal:
        digits = _digits(value, "decimal")
        try:
            return decimal.Decimal(digits).quantize(step, context=context) or zero
        except decimal.DecimalException:
            raise ValueError(f"no decimal({kind.precision}, {kind.scale}): {digits[:40]}") from None

    return read


def _digits(value: FieldValue, wanted: str) -> str:
    """Return the text of a number that came as one, or as a text of it."""
    kind = value.__class__
    if kind is Number or kind is int:
        return str(value)
    if kind is not str:
        raise TypeError(_other(value, wanted))
    digits: str = value.strip(_BLANKS)
    if _NUMBER(digits) is None:
        raise ValueError(f"no number: {value[:40]}")
    return digits


def _whole(kind: Primitive) -> Read:
    beyond = _WHOLE[kind]

    def read(value: FieldValue) -> int:
        digits = _digits(value, kind.value)
        try:
            number = decimal.Decimal(digits)
            is_whole = number == number.to_integral_value()
        except decimal.InvalidOperation:
            # An exponent of more than eighteen digits.
            is_whole = False
        if not is_whole:
            raise ValueError(f"no whole number: {digits[:40]}")
        if not -beyond <= number < beyond:
            raise ValueError(f"too large a number: {digits[:40]}")
        return int(number)

    return read


def _to_double(value: FieldValue) -> float:
    if value.__class__ is str and value in NOT_FINITE:
        return NOT_FINITE[value]
    digits = _digits(value, "double")
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"too large a number: {digits[:40]}")
    return number


def _to_float(value: FieldValue) -> float:
    number = _to_double(value)
    try:
        return single(number)
    except OverflowError:
        raise ValueError(f"no float: {number}") from None


def _to_boolean(value: FieldValue) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, int | str):
        raise TypeError(_other(value, "bool"))
    found = _BOOLEANS.get(str(value).strip(_BLANKS).lower())
    if found is None:
        raise ValueError(f"no boolean: {str(value)[:40]}")
    return found


def _to_text(value: FieldValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | str):
        raise TypeError(_other(value, "str"))
    return str(value)


def _other(value: FieldValue, wanted: str) -> str:
    return f"expected {wanted}, got {_KINDS[type(value)]}"


# What converts another form of a value where nothing is lost.
_CONVERSIONS: Final[dict[Primitive, Read]] = {
    Primitive.BOOLEAN: _to_boolean,
    Primitive.INT: _whole(Primitive.INT),
    Primitive.LONG: _whole(Primitive.LONG),
    Primitive.FLOAT: _to_float,
    Primitive.DOUBLE: _to_double,
    Primitive.STRING: _to_text,
    Primitive.UUID: _to_text,
}
