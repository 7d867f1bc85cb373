"""The arithmetic of the ledger: what was read is written, filtered, dropped or quarantined."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of records that one output read; `dropped` by the rule that they broke."""

    read: int = 0
    written: int = 0
    filtered: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.read + other.read,
            self.written + other.written,
            self.filtered + other.filtered,
            dict(Counter(self.dropped) + Counter(other.dropped)),
            self.quarantined + other.quarantined,
        )

    @property
    def accounted(self) -> int:
        """How many records we can say where they went."""
        return self.written + self.filtered + sum(self.dropped.values()) + self.quarantined


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of offsets of one partition that is done with, and what became of its records.

    `lost` counts offsets at its beginning that the topic no longer had. An offset that holds no
    record (compaction took it, or a transaction's end is there) is in the range and not `read`.
    `replaced` counts offsets before it that hold other records since they were read; those were
    not. `epoch` is that of a leader whose log had all up to its end, -1 where it is not known.
    """

    start: int
    end_exclusive: int
    counts: Counts
    lost: int = 0
    replaced: int = 0
    epoch: int = -1

    def __add__(self, later: Stretch) -> Stretch:
        return Stretch(
            self.start,
            later.end_exclusive,
            self.counts + later.counts,
            self.lost + later.lost,
            self.replaced + later.replaced,
            later.epoch,
        )

    @property
    def absent(self) -> int:
        """How many offsets held no record."""
        return self.end_exclusive - self.start - self.lost - self.counts.read


@dataclass(frozen=True, slots=True)
class Entry:
    """One batch of one output: a stretch of each partition that had something new."""

    batch: int
    at: str
    stretches: Mapping[int, Stretch]

    @property
    def counts(self) -> Counts:
        """All partitions together."""
        return total(stretch.counts for stretch in self.stretches.values())


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something in a ledger that cannot be: where, and what."""

    partition: int
    message: str


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sum."""
    return sum(counts, Counts())


def flaws(entries: Iterable[Entry]) -> list[Flaw]:
    """Return where a ledger contradicts itself: sums that do not add up, gaps, overlaps."""
    found: list[Flaw] = []
    ends: dict[int, int] = {}
    for entry in entries:
        for partition, stretch in entry.stretches.items():
            found += _within(entry, partition, stretch)
            before = ends.get(partition, stretch.start)
            if stretch.start > before:
                found.append(Flaw(partition, f"missing: {_shown(before, stretch.start)}"))
            elif stretch.start < before:
                found.append(Flaw(partition, f"twice: {_shown(stretch.start, before)}"))
            ends[partition] = max(before, stretch.end_exclusive)
    return found


def positions(entries: Iterable[Entry]) -> dict[int, int]:
    """Return the next offset of each partition."""
    return {
        partition: stretch.end_exclusive
        for entry in entries
        for partition, stretch in entry.stretches.items()
    }


def epochs(entries: Iterable[Entry]) -> dict[int, int]:
    """Return the epoch that is known of each partition's next offset."""
    return {
        partition: stretch.epoch
        for entry in entries
        for partition, stretch in entry.stretches.items()
    }


def checked(entry: Entry) -> Entry:
    """Return an entry that adds up, or refuse to go on where a record is unaccounted for."""
    for partition, stretch in entry.stretches.items():
        for flaw in _within(entry, partition, stretch):
            raise Terminal(
                f"partition {partition}: {flaw.message}",
                "nothing was acknowledged; report this with the stream's file",
            )
    return entry


def rolled_up(entries: Iterable[Entry]) -> Entry:
    """Return one entry that says the same as many in a row, without their batches."""
    stretches: dict[int, Stretch] = {}
    last: Entry | None = None
    for last in entries:
        for partition, stretch in last.stretches.items():
            known = stretches.get(partition)
            stretches[partition] = stretch if known is None else known + stretch
    if last is None:
        raise ValueError("there is no entry to roll up")
    return Entry(last.batch, last.at, stretches)


def _within(entry: Entry, partition: int, stretch: Stretch) -> Iterable[Flaw]:
    counts = stretch.counts
    if counts.read != counts.accounted:
        message = (
            f"batch {entry.batch}: of {counts.read} records read"
            f" only {counts.accounted} are accounted for"
        )
        yield Flaw(partition, message)
    if stretch.absent < 0 or stretch.end_exclusive < stretch.start:
        message = (
            f"batch {entry.batch}: more records than offsets in"
            f" {_shown(stretch.start, stretch.end_exclusive)}"
        )
        yield Flaw(partition, message)


def _shown(start: int, end_exclusive: int) -> str:
    last = end_exclusive - 1
    return f"@ {start}" if last == start else f"@ {start} to {last}"
