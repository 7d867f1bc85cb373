"""From when to when the events of a unit are: bounds of a column that a watermark goes by.

`None` stands for bounds that nobody kept, `NO_EVENTS` for rows of which none has such a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.records.ahead import Ahead

Span: TypeAlias = tuple[int, int]
Spans: TypeAlias = tuple[Span | None, ...]
# The least is greater than any time, and the greatest is less: so it adds nothing to another.
NO_EVENTS: Final[Span] = (2**63 - 1, -(2**63))


def both_spans(one: Spans, other: Spans) -> Spans:
    """Return the bounds of two units together, column by column."""
    return tuple(
        None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
        for a, b in zip(one, other, strict=True)
    )


def all_spans(found: Iterable[Spans], columns: int) -> Spans:
    """Return the bounds of many units together."""
    whole: Spans = (NO_EVENTS,) * columns
    for one in found:
        whole = both_spans(whole, one)
    return whole


@dataclass(frozen=True, slots=True)
class EventColumns:
    """The columns of a table that watermarks go by.

    `ahead` bounds one of them, where the times that a replay goes by are the records' arrivals.
    """

    names: tuple[str, ...] = ()
    ahead: Ahead | None = None

    def kept(self, spans: Spans, arrived_us: tuple[int, int]) -> Spans:
        """Return bounds without what is too far ahead, of records that arrived between two times."""
        ahead = self.ahead
        if ahead is None:
            return spans
        return tuple(
            _kept(span, ahead, arrived_us) if span is not None and name == ahead.column else span
            for name, span in zip(self.names, spans, strict=True)
        )


def _kept(span: Span, ahead: Ahead, arrived_us: tuple[int, int]) -> Span:
    first_us, last_us = (time_us + ahead.limit_us for time_us in arrived_us)
    low_us, high_us = span
    if ahead.action == "clamp" and span != NO_EVENTS:
        # What is clamped may become the oldest.
        low_us = min(low_us, first_us)
    return low_us, min(high_us, last_us)
