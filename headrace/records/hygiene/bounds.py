"""The bounds of a range: they are read from a file's text into the values of a row."""

from __future__ import annotations

import decimal
import math
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.records.rows import BadRecord
from headrace.records.times import date_of, instant_of, time_of_day_of, wall_clock_of
from headrace.schema.model import Decimal, Primitive

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.schema.model import Type

Bound: TypeAlias = int | float | decimal.Decimal

_WHOLE: Final = "a whole number"
_NUMBER: Final = "a number"
_TIME: Final = "a time such as 2026-03-01T00:00:00Z"
_TIME_OF_DAY: Final = "a time of day such as 18:30:00"


def wanted_bound(kind: Type) -> str | None:
    """Return what a bound of a column of that type looks like, None where it can have none."""
    reader = _reader(kind)
    return None if reader is None else reader[0]


def parse_bound(text: str, kind: Type) -> Bound | None:
    """Return the bound as a row holds it, None where the text is no bound of such a column."""
    reader = _reader(kind)
    try:
        return None if reader is None else reader[1](text.strip())
    except (ValueError, ArithmeticError, BadRecord):
        return None


def shows_as_written(kind: Type) -> bool:
    """Whether a row holds such a value as people write it: a number, and no count of days."""
    return wanted_bound(kind) in {_WHOLE, _NUMBER}


def _reader(kind: Type) -> tuple[str, Callable[[str], Bound]] | None:
    if isinstance(kind, Decimal):
        return _NUMBER, _decimal
    return _READERS.get(kind) if isinstance(kind, Primitive) else None


def _whole(text: str) -> int:
    return int(text, 0 if text.lstrip("+-")[:2] in {"0x", "0o"} else 10)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _decimal(text: str) -> decimal.Decimal:
    number = decimal.Decimal(text)
    if not number.is_finite():
        raise ValueError(text)
    return number


def _millis_of_day(text: str) -> float:
    # A bound between two milliseconds stays between them.
    return time_of_day_of(text) / 1000


_READERS: Final[dict[Primitive, tuple[str, Callable[[str], Bound]]]] = {
    Primitive.INT: (_WHOLE, _whole),
    Primitive.LONG: (_WHOLE, _whole),
    Primitive.FLOAT: (_NUMBER, _float),
    Primitive.DOUBLE: (_NUMBER, _float),
    Primitive.DATE: ("a date such as 2026-03-01", date_of),
    Primitive.TIME_MILLIS: (_TIME_OF_DAY, _millis_of_day),
    Primitive.TIME_MICROS: (_TIME_OF_DAY, time_of_day_of),
    Primitive.TIMESTAMP_MILLIS: (_TIME, instant_of),
    Primitive.TIMESTAMP_MICROS: (_TIME, instant_of),
    Primitive.LOCAL_TIMESTAMP_MILLIS: (_TIME, wall_clock_of),
    Primitive.LOCAL_TIMESTAMP_MICROS: (_TIME, wall_clock_of),
}
