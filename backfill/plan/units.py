"""What is dispatched: a data file, a run of its row groups, or a time slice of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.application.ahead_of_time import Ahead


Span: TypeAlias = tuple[int, int]
Spans: TypeAlias = tuple[Span | None, ...]
# A table, a file of it, and the run of its row groups, None for the whole file.
FilePart: TypeAlias = tuple[str, str, tuple[int, int] | None]
# The least is greater than any time, and the greatest is less: so it adds nothing to another.
NO_EVENTS: Final[Span] = (2**63 - 1, -(2**63))


def hull(spans: Iterable[Span | None]) -> Span | None:
    """Return the span from the first start to the last end; None where there is none."""
    known = [span for span in spans if span is not None]
    return (min(known)[0], max(end for _, end in known)) if known else None


def all_spans(found: Iterable[Spans], columns: int) -> Spans:
    """Return the bounds of many units together, column by column; None where one is not known."""
    by_column = zip((NO_EVENTS,) * columns, *found, strict=True)
    return tuple(None if None in spans else hull(spans) for spans in by_column)


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


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The records of one Kafka partition from one offset to before another."""

    source: str
    topic: str
    partition: int
    first: int
    end_exclusive: int


class Unit(msgspec.Struct, frozen=True, gc=False):
    """The smallest piece that is dispatched, with the bounds of its ingestion times.

    `row_groups` is a half-open run of row groups, None for the whole file. `window_us` is a
    half-open span of time, None for all times: only rows inside it belong to the unit. `partly`
    says that some of `rows` may not be part of the replay: the period ends within them, or some
    are deleted. `events` are the bounds of the columns that watermarks of its table go by; a plan
    that is made has no more need of them.

    A plan may have millions of units, so they are structs, which are made and copied quickly.
    """

    source: str
    path: str
    min_ts_us: int
    max_ts_us: int
    rows: int
    size_bytes: int
    has_deletes: bool = False
    row_groups: tuple[int, int] | None = None
    window_us: tuple[int, int] | None = None
    partly: bool = False
    events: Spans = ()

    @property
    def width_us(self) -> int:
        """How far apart its oldest and its newest record are."""
        return self.max_ts_us - self.min_ts_us

    @property
    def read_with(self) -> FilePart:
        """What slices have in common that are read together: the row group, or file, that they are of."""
        return self.source, self.path, self.row_groups

    @property
    def order_key(self) -> tuple[int, int, str, str, tuple[int, int], tuple[int, int]]:
        """Where a unit stands in the order of time; ties are broken by name, so that a plan is one."""
        return (
            self.min_ts_us,
            self.max_ts_us,
            self.source,
            self.path,
            self.row_groups or (-1, -1),
            self.window_us or (0, 0),
        )
