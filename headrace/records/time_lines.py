"""Lines of source that read times in a loop over records, where a call costs a third more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from headrace.records.times import LOOKED_UP, plain_instant

if TYPE_CHECKING:
    from collections.abc import Mapping

_HOUR: Final = slice(11, 13)
_SEPARATORS: Final = slice(4, 20, 3)
_IN_MILLIS: Final = len("2026-01-05T03:04:05.123Z")
_IN_MICROS: Final = len("2026-01-05T03:04:05.123456Z")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines over a value `found`, and what they use.

    They begin with an `if`; all else that is found is left to what stands behind them.
    """

    lines: tuple[str, ...]
    names: Mapping[str, object]


def reading_lines(attribute: str) -> Lines:
    """Return what puts the microseconds of a text into the row, as `plain_instant` reads it."""
    known = (
        "(second := seconds.get(found[SECOND])) is not None"
        " and (millis := known_millis.get(found[MILLIS])) is not None"
        " and (micros := known_micros.get(found[MICROS])) is not None"
    )
    plain = "(instant := plain(found)) is not None"
    return Lines(
        (
            f"if found.__class__ is str and {known}: row.{attribute} = second + millis + micros",
            f"elif found.__class__ is str and {plain}: row.{attribute} = instant",
        ),
        {**LOOKED_UP, "plain": plain_instant},
    )


def leaving_lines(fix: str) -> Lines:
    """Return what leaves a text in the row that `filled_up` makes as `instant_text` writes it.

    Its length and its separators are as we write them, and the rest is an instant if the library
    says so. `fix` is a call that puts the text of any other one into the row.
    """
    separators = "found[SEPARATORS] == '--T::.' and found[-1] == 'Z'"
    size = f"((size := len(found)) == {_IN_MICROS} or size == {_IN_MILLIS})"
    return Lines(
        (
            f"if found.__class__ is str and {separators} and {size}:",
            # From Python 3.14 on, 24:00 is the next day's midnight.
            "    try: is_other = not of_iso(found).hour and found[HOUR] != '00'",
            "    except ValueError: is_other = True",
            f"    if is_other: {fix}",
        ),
        {"SEPARATORS": _SEPARATORS, "HOUR": _HOUR, "of_iso": datetime.fromisoformat},
    )


def filled_up(source: str, local: str) -> str:
    """Return source for the text with microseconds of what `leaving_lines` left, or for None."""
    return (
        f"({local} if ({local} := {source}) is None or len({local}) == {_IN_MICROS}"
        f" else {local}[:{_IN_MILLIS - 1}] + '000Z')"
    )
