"""What the page of an application tells beyond the API's row: batches, state, positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class StateRow:
    """The state of an operator after the last batch: its rows, and the memory that it takes.

    `dropped_late` counts rows that came after the watermark, since the process was started.
    """

    operator: str
    rows: int
    bytes: int
    dropped_late: int = 0


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch: when it began, how long it took, its rows, and the watermark that it went by."""

    batch: int
    at: str
    rows: int
    duration_s: float
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class PositionRow:
    """Where a source is after the last batch, in words: offsets of topics, the time in a table."""

    source: str
    candidate: str
    position: str


@dataclass(frozen=True, slots=True)
class LookupRow:
    """A table that the application joins with, and the state that it sees."""

    name: str
    table: str
    as_of: str


@dataclass(frozen=True, slots=True)
class RewindRow:
    """A batch that `headrace rewind` can go back to, as far as this host's files tell."""

    batch: int
    began: str
    position: str
    obstacle: str | None = None


@dataclass(frozen=True, slots=True)
class AppDetail:
    """What an application keeps of itself on this host, and what its file says.

    `started` and `at` are of the process that wrote its batches last: when it began, and its last
    word. `ahead` and `rejected` count since the first start; None is not known. `unknown` says in
    sentences what cannot be known here, and why. `is_replayed`: its file selects a table, which
    only a replay reads.
    """

    started: str | None = None
    at: str | None = None
    watermark: str | None = None
    rows: int | None = None
    batches: Sequence[BatchRow] = ()
    state: Sequence[StateRow] = ()
    dropped_late: int | None = None
    is_late_exact: bool = True
    ahead: int | None = None
    rejected: Mapping[str, int] = field(default_factory=dict)
    positions: Sequence[PositionRow] = ()
    lookups: Sequence[LookupRow] = ()
    rewinds: Sequence[RewindRow] = ()
    rewinds_kept: int = 0
    unknown: Sequence[str] = ()
    is_replayed: bool = False
