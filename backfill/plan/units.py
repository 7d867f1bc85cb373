"""What is dispatched: a data file, a run of its row groups, or a time slice of one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from backfill.event_spans import Spans  # noqa: TC001 - a kept plan is read by its types


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a file, by its footer; `rows` are those that have a time."""

    index: int
    min_ts_us: int
    max_ts_us: int
    rows: int
    size_bytes: int
    partly: bool = False
    events: Spans = ()

    @property
    def width_us(self) -> int:
        """How far apart its oldest and its newest record are."""
        return self.max_ts_us - self.min_ts_us


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The records of one Kafka partition from one offset to before another."""

    source: str
    topic: str
    partition: int
    first: int
    end_exclusive: int


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest piece that is dispatched, with the bounds of its ingestion times.

    `row_groups` is a half-open run of row groups, None for the whole file. `window_us` is a
    half-open span of time, None for all times: only rows inside it belong to the unit. `partly`
    says that some of `rows` may not be part of the replay: the period ends within them, or some
    are deleted. `events` are the bounds of the columns that watermarks of its table go by; a plan
    that is made has no more need of them.
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
    def read_with(self) -> tuple[str, str, tuple[int, int] | None]:
        """What slices have in common that are read together: the row group, or file, that they are of."""
        return self.source, self.path, self.row_groups

    def without_row_groups(self) -> Unit:
        """Return the unit over all row groups of its file."""
        return replace(self, row_groups=None)

    def without_events(self) -> Unit:
        """Return the unit as a plan keeps it; there are millions of them, and `replace` is slow."""
        return Unit(
            self.source,
            self.path,
            self.min_ts_us,
            self.max_ts_us,
            self.rows,
            self.size_bytes,
            self.has_deletes,
            self.row_groups,
            self.window_us,
            self.partly,
        )

    @property
    def place(self) -> tuple[int, int, str, str, tuple[int, int], tuple[int, int]]:
        """Where a unit stands in the order of time; ties are broken by name, so that a plan is one."""
        return (
            self.min_ts_us,
            self.max_ts_us,
            self.source,
            self.path,
            self.row_groups or (-1, -1),
            self.window_us or (0, 0),
        )
