"""Durations and sizes as people write them: `15min`, `1h30m`, `128MiB`."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from headrace.problems import nearest

DURATION_EXAMPLE = "a duration such as 30s, 15min or 1h30m"
SIZE_EXAMPLE = "a size such as 64MiB or 1GB"

_MICROSECONDS = {
    "ms": 1_000,
    "millisecond": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "second": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "minute": 60_000_000,
    "h": 3_600_000_000,
    "hour": 3_600_000_000,
    "d": 86_400_000_000,
    "day": 86_400_000_000,
}
_PLURALS = {f"{unit}s": micros for unit, micros in _MICROSECONDS.items() if len(unit) > 2}
_DURATION_UNITS = _MICROSECONDS | _PLURALS
_SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SIZE_UNITS_FOLDED = {unit.casefold(): size for unit, size in _SIZE_UNITS.items()}

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_PART = re.compile(rf"\s*({_NUMBER})\s*([^\W\d_]*)\s*")
# For editors, which see a ${VAR} before it is filled in.
DURATION_PATTERN = rf"\$\{{|^\s*(0|({_NUMBER}\s*[A-Za-z]+\s*)+)$"
SIZE_PATTERN = rf"\$\{{|^\s*{_NUMBER}\s*[A-Za-z]+\s*$"

LARGEST_SIZE = 2**63 - 1


class UnitError(ValueError):
    """A quantity that cannot be read; `advice` says what would be."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


def parse_duration(text: str) -> timedelta:
    """Read a duration; refuse a number without its unit, except 0."""
    micros = _total(text, _DURATION_UNITS, "ms, s, min, h, d")
    try:
        return timedelta(microseconds=round(micros))
    except OverflowError as cause:
        raise UnitError("too long", "use a shorter duration") from cause


def duration_text(duration: timedelta) -> str:
    """Write a duration in the largest unit that it is a whole number of."""
    micros = duration // timedelta(microseconds=1)
    if micros == 0:
        return "0"
    for unit in ("d", "h", "min", "s", "ms"):
        if micros % _MICROSECONDS[unit] == 0:
            return f"{micros // _MICROSECONDS[unit]}{unit}"
    return f"{micros / _MICROSECONDS['ms']:.3f}ms"


def parse_size(text: str) -> int:
    """Read a size in bytes; refuse a number without its unit, except 0."""
    size = int(_total(text, _SIZE_UNITS_FOLDED, ", ".join(_SIZE_UNITS)))
    if size > LARGEST_SIZE:
        raise UnitError("too large", "use a smaller size")
    return size


def _total(text: str, units: dict[str, int], shown_units: str) -> Fraction:
    if text.strip() == "0":
        return Fraction(0)
    total, position, seen = Fraction(0), 0, set[str]()
    while position < len(text) or not seen:
        part = _PART.match(text, position)
        if part is None:
            raise UnitError("not a number with a unit", f"units: {shown_units}")
        number, unit = part.groups()
        if not unit:
            raise UnitError("the unit is missing", f"units: {shown_units}")
        if unit.casefold() not in units:
            raise UnitError(f'unknown unit "{unit}"', _advice(text, part, units, shown_units))
        if unit.casefold() in seen:
            raise UnitError(f'the unit "{unit}" comes twice', "add the two numbers up")
        seen.add(unit.casefold())
        total += Fraction(number) * units[unit.casefold()]
        position = part.end()
    return total


def _advice(text: str, part: re.Match[str], units: dict[str, int], shown_units: str) -> str:
    spellings = [name for name in _SIZE_UNITS if name.casefold() in units] or list(units)
    near = nearest(part[2], spellings)
    if near is None:
        return f"units: {shown_units}"
    return (
        f'did you mean "{text[: part.start(2)]}{near}{text[part.end(2) :]}"? units: {shown_units}'
    )
