"""The arithmetic of the ledger: what was read is written, filtered, dropped or quarantined."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.errors import Terminal
from headrace.kafka.offset_set import shown_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The batch of the first entry, which says where a member began.
BEGINNING: Final = -1


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

    def __sub__(self, other: Counts) -> Counts:
        return Counts(
            self.read - other.read,
            self.written - other.written,
            self.filtered - other.filtered,
            dict(Counter(self.dropped) - Counter(other.dropped)),
            self.quarantined - other.quarantined,
        )

    @property
    def numbers(self) -> dict[str, int]:
        """The counts by name, whatever the rule that dropped records broke."""
        return asdict(self) | {"dropped": sum(self.dropped.values())}

    @property
    def shown(self) -> dict[str, int]:
        """The same for a log line or a report, without what did not happen."""
        always = {"read", "written"}
        return {name: value for name, value in self.numbers.items() if value or name in always}

    @property
    def accounted(self) -> int:
        """How many records we can say where they went."""
        return self.written + self.filtered + sum(self.dropped.values()) + self.quarantined


@dataclass(frozen=True, slots=True)
class LedgerStretch:
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

    def __add__(self, later: LedgerStretch) -> LedgerStretch:
        return LedgerStretch(
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
class LedgerEntry:
    """One batch of one output: a stretch of each partition that had something new."""

    batch: int
    at: str
    stretches: Mapping[int, LedgerStretch]

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
    """Return the sum; one by one they would be made again and again."""
    read = written = filtered = quarantined = 0
    dropped: Counter[str] = Counter()
    for one in counts:
        read += one.read
        written += one.written
        filtered += one.filtered
        quarantined += one.quarantined
        if one.dropped:
            dropped.update(one.dropped)
    return Counts(read, written, filtered, dict(dropped), quarantined)


def flaws(entries: Iterable[LedgerEntry]) -> list[Flaw]:
    """Return where a ledger contradicts itself: sums that do not add up, gaps, overlaps."""
    found: list[Flaw] = []
    ends: dict[int, int] = {}
    for entry in entries:
        for partition, stretch in entry.stretches.items():
            found += _within(entry.batch, partition, stretch)
            before = ends.get(partition, stretch.start)
            if stretch.start != before:
                what = "missing" if stretch.start > before else "twice"
                offsets = range(*sorted((before, stretch.start)))
                found.append(Flaw(partition, f"{what}: {shown_offsets(offsets)}"))
            ends[partition] = max(before, stretch.end_exclusive)
    return found


def by_partition(entries: Iterable[LedgerEntry]) -> dict[int, list[LedgerStretch]]:
    """Return the stretches of each partition, in their order."""
    found: dict[int, list[LedgerStretch]] = {}
    for entry in entries:
        for partition, stretch in entry.stretches.items():
            found.setdefault(partition, []).append(stretch)
    return found


def checked(partition: int, batch: int, stretch: LedgerStretch) -> LedgerStretch:
    """Return a stretch that adds up, or refuse to go on where a record is unaccounted for."""
    for flaw in _within(batch, partition, stretch):
        raise Terminal(
            f"partition {partition}: {flaw.message}",
            "nothing of the batch was committed; report this with the stream's file",
        )
    return stretch


def _within(batch: int, partition: int, stretch: LedgerStretch) -> Iterable[Flaw]:
    counts = stretch.counts
    if counts.read != counts.accounted:
        message = (
            f"batch {batch}: read {counts.read} records, but accounts for only {counts.accounted}"
        )
        yield Flaw(partition, message)
    if stretch.absent < 0 or stretch.end_exclusive < stretch.start:
        message = (
            f"batch {batch}: has more records than offsets in "
            f"{shown_offsets(range(stretch.start, stretch.end_exclusive))}"
        )
        yield Flaw(partition, message)
