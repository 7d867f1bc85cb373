"""Which snapshot of a table was current at a time, as far back as its history tells."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot, SnapshotLogEntry

MS_US = 1000
# Rows that are removed and written again within this time are one change, unless a summary says
# otherwise.
ONE_CHANGE_MS = 30_000
TAKES_AWAY = frozenset({"delete", "overwrite"})


@dataclass(frozen=True, slots=True)
class Timeline:
    """What was current, each from its time until the next. Before the first, nobody knows."""

    changes: tuple[tuple[int, int], ...]

    @property
    def begins_us(self) -> int | None:
        """The oldest time that is known of; None for a table that never had a snapshot."""
        return self.changes[0][0] if self.changes else None

    def at(self, time_us: int) -> int | None:
        """Return the snapshot that was current at a time; None before the first."""
        after = bisect_right(self.changes, time_us, key=lambda change: change[0])
        return self.changes[after - 1][1] if after else None

    def times_within(self, start_us: int, end_us_exclusive: int) -> list[int]:
        """Return when another snapshot became current, after the start and before the end."""
        return [at_us for at_us, _ in self.changes if start_us < at_us < end_us_exclusive]


def timeline_of(metadata: TableMetadata) -> Timeline:
    """Read what a table's metadata tell of its main branch."""
    made = {one.snapshot_id: one for one in metadata.snapshots}
    commits = {one.timestamp_ms for one in metadata.metadata_log} | {metadata.last_updated_ms}
    return timeline(metadata.snapshot_log, made, commits)


def timeline(
    log: Sequence[SnapshotLogEntry], made: Mapping[int, Snapshot], commits: Collection[int] = ()
) -> Timeline:
    """Return what was current when, from a log and the snapshots that are still there.

    A snapshot that was let go takes all before it along: a time in between would else be given a
    state that was not its own. A rollback is a line like any other. `commits` has the times of
    the latest commits: a line at none of them was never seen by anybody.
    """
    begin = _begin(log, made)
    known = log[begin:]
    seen = [
        one
        for one, following in pairwise(known)
        if not _is_within_a_commit(one, following, made, commits)
    ]
    return Timeline(tuple(_in_order([*seen, *known[-1:]])))


def _is_within_a_commit(
    one: SnapshotLogEntry,
    following: SnapshotLogEntry,
    made: Mapping[int, Snapshot],
    commits: Collection[int],
) -> bool:
    """Whether a line is of a commit that went on: pyiceberg deletes, then appends, in one."""
    own, child = made[one.snapshot_id], made[following.snapshot_id]
    if child.parent_snapshot_id != one.snapshot_id:
        return False
    if commits and one.timestamp_ms >= min(commits):
        return one.timestamp_ms not in commits
    is_replacement = _operation(own) in TAKES_AWAY and _operation(child) == "append"
    return is_replacement and following.timestamp_ms - one.timestamp_ms <= ONE_CHANGE_MS


def _operation(snapshot: Snapshot) -> str | None:
    return None if snapshot.summary is None else snapshot.summary.operation.value


def _begin(log: Sequence[SnapshotLogEntry], made: Mapping[int, Snapshot]) -> int:
    """Return from which line on nothing is missing."""
    begin = newest = 0
    before: int | None = None
    numbers = sorted({one.sequence_number or 0 for one in made.values()})
    for index, entry in enumerate(log):
        own = made.get(entry.snapshot_id)
        if own is None:
            begin = index + 1
            continue
        # Some tools that expire take lines out one by one, and the rest of the log along not.
        sequence = own.sequence_number or 0
        if own.timestamp_ms == entry.timestamp_ms:
            is_after_a_gap = _is_lone(own, newest, made, numbers)
        else:
            # A rollback, and the one before it may have been to what is gone. What was never current
            # before was made apart, and is published.
            is_rollback = sequence <= newest
            is_after_a_gap = is_rollback and bisect_right(numbers, newest) < newest
        if entry.snapshot_id == before or is_after_a_gap:
            begin = index
        before, newest = entry.snapshot_id, max(newest, sequence)
    return begin


def _is_lone(
    own: Snapshot, newest: int, made: Mapping[int, Snapshot], numbers: Sequence[int]
) -> bool:
    """Whether a snapshot follows one that is gone; `newest` is the highest number before it.

    What replaces a table follows none either, and takes the next number. Where a number before it
    is gone nobody can tell: a rollback to that one may have been in between.
    """
    sequence = own.sequence_number or 0
    is_next = sequence != 0 and sequence == newest + 1
    nothing_gone = bisect_left(numbers, sequence) == sequence - 1
    return own.parent_snapshot_id not in made and not (is_next and nothing_gone)


def _in_order(log: Iterable[SnapshotLogEntry]) -> list[tuple[int, int]]:
    """Order lines by time as Iceberg reads them: of those up to a time, the last written counts."""
    kept: list[tuple[int, int]] = []
    for one in log:
        at_us = one.timestamp_ms * MS_US
        while kept and kept[-1][0] >= at_us:
            kept.pop()
        kept.append((at_us, one.snapshot_id))
    return kept
