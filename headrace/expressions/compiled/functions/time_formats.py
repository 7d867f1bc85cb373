"""Formats of times that mean the same to Java and to us: digits of fixed width, and what stands between."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from headrace.expressions.compiled.runtime.errors import Undefined
from headrace.expressions.compiled.runtime.moments import civil, days_of, start_of_day, year_text
from headrace.expressions.compiled.syntax import Refused
from headrace.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Callable

_PART = re.compile(
    r"(yyyy(?!y)|MM(?!M)|dd(?!d)|HH(?!H)|mm(?!m)|ss(?!s)|SSS(?:SSS)?(?![A-Za-z]))"
    r"|'([^']+)'|([^A-Za-z'#{}\[\]])"
)
_UNITS: Final = {"HH": 3_600_000_000, "mm": 60_000_000, "ss": 1_000_000}
# A year of another width has a sign; of a fraction, digits at the end may be left out.
_SHAPES: Final = {
    "yyyy": r"([0-9]{4}|-[0-9]{4,9}|\+[0-9]{5,9})",
    "SSS": "([0-9]{1,3})",
    "SSSSSS": "([0-9]{1,6})",
}
_LARGEST: Final = {"MM": 12, "dd": 31, "HH": 23, "mm": 59, "ss": 59}


def _parts(pattern: str) -> list[tuple[str, str]]:
    """Return the letters and the texts of a format, refuse what else is in it."""
    parts: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        found = _PART.match(pattern, at)
        if found is None:
            raise Refused(f"a format of Java's, '{pattern}'")
        letters, quoted, other = found.groups()
        parts.append((letters, "") if letters else ("", quoted or other))
        at = found.end()
    return parts


@lru_cache(maxsize=1024)
def writer(pattern: str) -> Callable[[int], str]:
    """Return what shows a timestamp in a format."""
    parts = _parts(pattern)

    def written(micros: int) -> str:
        days, within = divmod(micros, DAY_US)
        year, month, day = civil(days)
        values = {"yyyy": year_text(year), "MM": f"{month:02}", "dd": f"{day:02}"}
        values |= {
            name: f"{within // unit % (_LARGEST[name] + 1):02}" for name, unit in _UNITS.items()
        }
        fraction = f"{within % 1_000_000:06}"
        values |= {"SSS": fraction[:3], "SSSSSS": fraction}
        return "".join(values[letters] if letters else text for letters, text in parts)

    # The source of an expression names a function: each format has its own.
    written.__name__ = f"written_{pattern.encode().hex()}"
    return written


@lru_cache(maxsize=1024)
def reader(pattern: str) -> Callable[[str], int]:
    """Return what reads a timestamp in a format."""
    parts = _parts(pattern)
    letters = [one for one, _ in parts if one]
    is_one_time = len(set(letters)) == len(letters) and {"yyyy", "MM"} <= set(letters)
    if not (is_one_time and pattern.isascii()):
        raise Refused(f"to read by the format '{pattern}'")
    source = "".join(
        _SHAPES.get(one, "([0-9]{2})") if one else re.escape(text) for one, text in parts
    )
    shape = re.compile(source, re.IGNORECASE)

    def read(text: str) -> int:
        found = shape.fullmatch(text)
        if found is None:
            raise Undefined("the text is no time of that format")
        shown = dict(zip(letters, found.groups(), strict=True))
        fraction = next((shown.pop(one) for one in ("SSS", "SSSSSS") if one in shown), "")
        values = {one: int(digits) for one, digits in shown.items()}
        if any(values.get(one, 0) > most for one, most in _LARGEST.items()):
            raise Undefined("there is no such time")
        try:
            days = days_of(values["yyyy"], values["MM"], values.get("dd", 1))
        except ValueError:
            raise Undefined("there is no such date") from None
        within = sum(values.get(one, 0) * unit for one, unit in _UNITS.items())
        return start_of_day(days) + within + int(fraction.ljust(6, "0"))

    read.__name__ = f"read_{pattern.encode().hex()}"
    return read
