"""What Spark casts without being asked, in its ANSI mode."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.expressions.compiled.fragment import (
    NULL,
    Fragment,
    Kind,
    Scope,
    lift,
    literal_of,
    name_of,
)
from headrace.expressions.compiled.runtime import numbers
from headrace.expressions.compiled.runtime.errors import Undefined, overflow
from headrace.expressions.compiled.runtime.moments import days_of_text, micros_of_text, start_of_day
from headrace.expressions.compiled.syntax import Refused
from headrace.schema.model import Decimal, Primitive, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

INT: Final = Primitive.INT
LONG: Final = Primitive.LONG
DOUBLE: Final = Primitive.DOUBLE
STRING: Final = Primitive.STRING
BOOLEAN: Final = Primitive.BOOLEAN
BYTES: Final = Primitive.BYTES
DATE: Final = Primitive.DATE
TIMESTAMP: Final = Primitive.TIMESTAMP_MICROS
LOCAL: Final = Primitive.LOCAL_TIMESTAMP_MICROS
WHOLE: Final = (INT, LONG)
NUMBERS: Final = (*WHOLE, DOUBLE)
MOMENTS: Final = (TIMESTAMP, LOCAL)
ORDERED: Final = (*NUMBERS, STRING, BOOLEAN, DATE, *MOMENTS)
LIMITS: Final[Mapping[Type | None, tuple[int, int, str]]] = {
    INT: (-(2**31), 2**31 - 1, "int"),
    LONG: (-(2**63), 2**63 - 1, "bigint"),
    TIMESTAMP: (-(2**63), 2**63 - 1, "timestamp"),
    DATE: (-(2**31), 2**31 - 1, "date"),
}
_MOST_DIGITS: Final = 38
# What Spark reads as a time of its own where it is in quotes.
_SPECIAL = re.compile(r"\s*(?:epoch|now|today|tomorrow|yesterday)", re.IGNORECASE)
_WHOLE_TEXT = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER_TEXT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_READERS: Final[Mapping[Kind, Callable[..., object]]] = {
    INT: numbers.whole_of_text,
    LONG: numbers.whole_of_text,
    DOUBLE: numbers.double_of_text,
    BOOLEAN: numbers.boolean_of_text,
    DATE: days_of_text,
}


def checked(scope: Scope, source: str, kind: Type | None) -> str:
    """Return source that checks that a whole number, a date or a timestamp fits its type."""
    lowest, largest, name = LIMITS[kind]
    result, fail = scope.temporary(), scope.helper(overflow)
    bound = f"{lowest} <= ({result} := {source}) <= {largest}"
    return f"{result} if {bound} else {fail}({name!r})"


def common_kind(values: Iterable[Fragment], what: str) -> Kind:
    """Return the one kind that all values have or are widened to; None where all are NULL."""
    kinds = {one.kind for one in values} - {None}
    if not kinds:
        return None
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {INT, LONG}:
        return LONG
    if DOUBLE in kinds and all(kind in NUMBERS or isinstance(kind, Decimal) for kind in kinds):
        return DOUBLE
    raise Refused(f"{what} of {' and '.join(sorted(name_of(kind) for kind in kinds))}")


def _digits(value: Fragment) -> tuple[int, int]:
    """Return how many digits a number may have before and behind the point."""
    if isinstance(value.kind, Decimal):
        return value.kind.precision - value.kind.scale, value.kind.scale
    if value.is_literal:
        return len(str(abs(value.literal))), 0
    return (20 if value.kind is LONG else 10), 0


def _as_decimal(value: Fragment) -> Fragment:
    # Spark makes an int that is known a decimal of its own digits, which might have no room.
    return replace(value, declared=value.declared or (value.is_literal and value.kind in WHOLE))


def widened(scope: Scope, value: Fragment, kind: Kind) -> Fragment:
    """Return the value as one of a wider kind, as Spark would cast it."""
    if value.kind == kind or kind is None:
        return value
    if value.kind is None:
        return replace(NULL, type=kind)
    if kind is LONG and value.kind is INT:
        return replace(value, type=LONG)
    if kind is DOUBLE and (value.kind in WHOLE or isinstance(value.kind, Decimal)):
        if value.is_literal:
            return literal_of(scope, float(value.literal), DOUBLE)
        return lift(scope, [value], DOUBLE, lambda x: f"float({x})")
    if kind in {TIMESTAMP, LOCAL} and value.kind is DATE:
        days = scope.helper(start_of_day)
        return lift(scope, [value], kind, lambda x: f"{days}({x})", fails=True)
    raise Refused(f"a cast of {value.kind_name} to {name_of(kind)}")


def reckonable(scope: Scope, left: Fragment, right: Fragment) -> tuple[Fragment, Fragment]:
    """Return two values with a text among them as the number that it is added to."""
    if STRING not in {left.kind, right.kind} or left.kind is right.kind:
        return left, right
    if not {left.kind, right.kind} <= {STRING, *NUMBERS}:
        raise Refused(f"arithmetic of {left.kind_name} and {right.kind_name}")
    return _text_as(scope, left, right.kind), _text_as(scope, right, left.kind)


def alike(scope: Scope, values: Sequence[Fragment], what: str) -> tuple[list[Fragment], Kind]:
    """Return values as their common kind, where they are results: IF, COALESCE and the like."""
    kind = common_kind(values, what)
    return [widened(scope, one, kind) for one in values], kind


def comparable(scope: Scope, left: Fragment, right: Fragment) -> tuple[Fragment, Fragment, Kind]:
    """Return two values as the kind in which Spark compares them; numbers may stay decimals."""
    left, right = _text_as(scope, left, right.kind), _text_as(scope, right, left.kind)
    kinds = {left.kind, right.kind}
    others = {kind for kind in kinds if not isinstance(kind, Decimal)}
    if others < kinds and others <= {*WHOLE, None}:
        # Python compares an int with a Decimal exactly, and Spark widens both: without loss where
        # 38 digits have room for both, and else it rounds what is behind the point.
        before, behind = map(max, zip(_digits(left), _digits(right), strict=True))
        if before + behind > _MOST_DIGITS:
            raise Refused("a comparison of decimals that 38 digits have no room for")
        return _as_decimal(left), _as_decimal(right), Decimal(38, 0)
    if kinds in ({DATE, TIMESTAMP}, {DATE, LOCAL}):
        kind: Kind = TIMESTAMP if TIMESTAMP in kinds else LOCAL
    else:
        kind = common_kind((left, right), "a comparison")
    if kind not in {*ORDERED, BYTES, None}:
        raise Refused(f"a comparison of {name_of(kind)}")
    return widened(scope, left, kind), widened(scope, right, kind), kind


def _text_as(scope: Scope, value: Fragment, other: Kind) -> Fragment:
    """Return a text as what it is compared or reckoned with."""
    if value.kind is not STRING or other in {STRING, None}:
        return value
    if isinstance(other, Decimal):
        other = DOUBLE
    return text_as(scope, value, LONG if other in WHOLE else other)


def text_as(scope: Scope, value: Fragment, kind: Kind) -> Fragment:
    """Return a text as another type, as a cast reads it."""
    if value.is_literal:
        known = _known(scope, value.literal, kind)
        if known is not None:
            return replace(known, declared=True)
    reader = _READERS.get(kind)
    if reader is None:
        raise Refused(f"a cast of string to {name_of(kind)}")
    limits = "".join(f", {one!r}" for one in LIMITS[kind]) if kind in WHOLE else ""
    build = f"{scope.helper(reader)}({{}}{limits})".format
    return lift(scope, [value], kind, build, fails=True, declared=True)


def _known(scope: Scope, text: str, kind: Kind) -> Fragment | None:
    """Return what a text in quotes stands for, None where it cannot be read in one way alone."""
    if kind in WHOLE and _WHOLE_TEXT.fullmatch(text):
        lowest, largest, _ = LIMITS[kind]
        return literal_of(scope, int(text), kind) if lowest <= int(text) <= largest else None
    if kind is DOUBLE and _NUMBER_TEXT.fullmatch(text):
        return literal_of(scope, float(text), DOUBLE)
    if kind in {DATE, TIMESTAMP, LOCAL} and _SPECIAL.match(text):
        raise Refused(f"the text '{text}' as a time")
    if kind is DATE:
        try:
            return literal_of(scope, days_of_text(text), DATE)
        except Undefined:
            return None
    if kind in {TIMESTAMP, LOCAL} and isinstance(kind, Primitive):
        micros = micros_of_text(text)
        if micros is None:
            raise Refused(f"the timestamp '{text}'")
        return literal_of(scope, micros, kind)
    return None
