"""A table's snapshots: the line that led to its head, and those that a writer may let go."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Operation

from headrace.iceberg.append import remove_quietly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

# Every commit reads, copies and writes the whole history: some 100 µs of CPU a snapshot. 250 are
# four hours of a commit a minute, and cost as much as all the rest of a commit. Of topics of very
# many partitions, which say much in each snapshot, fewer are kept.
USUAL: Final = range(100, 251)
HISTORY_BYTES: Final = 2 * 2**20
SNAPSHOT_BYTES: Final = 800
# Whoever reads a table commit by commit, and is away for a while, finds where it was: where a
# commit comes each second, 250 are four minutes.
YOUNG_MS: Final = 3_600_000
MOST_YOUNG: Final = 1_000
MAX_SNAPSHOTS: Final = "headrace.history.max-snapshots"
# Iceberg's own words for its expiry, which hold for ours.
MAX_AGE: Final = "history.expire.max-snapshot-age-ms"
MIN_SNAPSHOTS: Final = "history.expire.min-snapshots-to-keep"
MAX_REF_AGE: Final = "history.expire.max-ref-age-ms"
USUAL_AGE_MS: Final = 5 * 24 * 3_600_000
# More than one, so that a history that has grown too long becomes shorter; few, so that no
# commit takes noticeably longer than another.
LET_GO_AT_ONCE: Final = 3


def main_line(table: Table) -> Iterator[Snapshot]:
    """Yield the snapshots from the head back, as far as they are still known."""
    known = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    at = table.metadata.current_snapshot_id
    if at is not None and at in known:
        yield from _line_of(known[at], known)


def _line_of(head: Snapshot, known: Mapping[int, Snapshot]) -> Iterator[Snapshot]:
    at: Snapshot | None = head
    while at is not None:
        yield at
        parent = at.parent_snapshot_id
        at = None if parent is None else known.get(parent)


@dataclass(frozen=True, slots=True)
class Keep:
    """How much of a history stays: at least so many, and what is younger up to `most`."""

    snapshots: int
    younger_than_ms: int
    most: int | None


def kept_history(properties: Mapping[str, str], mark_bytes: int) -> Keep:
    """Return what a table says of its history; where it says nothing, what is usual.

    What snapshots say of themselves counts for their usual number.
    """
    count, age_ms = (_number(properties, name) for name in (MAX_SNAPSHOTS, MAX_AGE))
    least = _number(properties, MIN_SNAPSHOTS) or 1
    if count is not None:
        return Keep(max(least, count), age_ms or 0, None)
    if age_ms is not None:
        return Keep(least, age_ms, None)
    fit = HISTORY_BYTES // (SNAPSHOT_BYTES + mark_bytes)
    usual = max(least, USUAL[0], min(USUAL[-1], fit))
    return Keep(usual, YOUNG_MS, max(usual, MOST_YOUNG))


def to_let_go(table: Table, own: str, keep: Keep, now_ms: int) -> list[Snapshot]:
    """Return the oldest snapshots that can go without a data file losing its last reference.

    These are a writer's own (`own` is in the summary) that were followed by an append: all
    their data is in the one that followed. What lies before a compaction or a deletion stays for
    whoever expires snapshots with their files.
    """
    snapshots = table.metadata.snapshots
    surplus = len(snapshots) + 1 - keep.snapshots
    too_many = 0 if keep.most is None else len(snapshots) + 1 - keep.most
    if surplus <= 0 or table.properties.get("gc.enabled") == "false":
        return []
    held = {ref.snapshot_id for ref in table.metadata.refs.values()}
    following: dict[int | None, list[Snapshot]] = {}
    for snapshot in snapshots:
        following.setdefault(snapshot.parent_snapshot_id, []).append(snapshot)
    oldest = sorted(snapshots, key=lambda one: one.sequence_number or 0)
    found = []
    for number, snapshot in enumerate(oldest[:surplus]):
        if number >= too_many and now_ms - snapshot.timestamp_ms < keep.younger_than_ms:
            break
        next_ones = following.get(snapshot.snapshot_id, [])
        if snapshot.snapshot_id not in held and _is_own(snapshot, own) and _grew(next_ones):
            found.append(snapshot)
            if len(found) == LET_GO_AT_ONCE:
                break
    return found


def to_expire(table: Table, now_ms: int) -> list[Snapshot] | None:
    """Return the snapshots that Iceberg's own expiry would remove; None where the table forbids it.

    A branch keeps its newest snapshots by their number and their age, a tag keeps its own, and what
    nothing refers to goes by its age.
    """
    properties, metadata = table.properties, table.metadata
    if properties.get("gc.enabled") == "false":
        return None
    # Here a table may say 0.
    said = properties.get(MAX_AGE, "")
    age_ms = int(said) if said.isdecimal() else USUAL_AGE_MS
    least = _number(properties, MIN_SNAPSHOTS) or 1
    said = properties.get(MAX_REF_AGE, "")
    ref_age_ms = int(said) if said.isdecimal() else None
    known = {one.snapshot_id: one for one in metadata.snapshots}
    kept: set[int] = set()
    referred: set[int] = set()
    for name, ref in metadata.refs.items():
        head = known.get(ref.snapshot_id)
        most_ms = ref_age_ms if ref.max_ref_age_ms is None else ref.max_ref_age_ms
        is_main = name == MAIN_BRANCH
        if head is None or (
            not is_main and most_ms is not None and now_ms - head.timestamp_ms > most_ms
        ):
            continue
        line = [head] if ref.snapshot_ref_type == SnapshotRefType.TAG else [*_line_of(head, known)]
        referred |= {one.snapshot_id for one in line}
        own_ms = age_ms if ref.max_snapshot_age_ms is None else ref.max_snapshot_age_ms
        own_least = ref.min_snapshots_to_keep or least
        for number, one in enumerate(line):
            is_kept = number < own_least or now_ms - one.timestamp_ms <= own_ms
            if not is_kept and ref.snapshot_ref_type != SnapshotRefType.TAG:
                break
            kept.add(one.snapshot_id)
    return [
        one
        for one in metadata.snapshots
        if one.snapshot_id not in kept
        and (one.snapshot_id in referred or now_ms - one.timestamp_ms > age_ms)
    ]


def refers_to(table: Table, location: str) -> bool:
    """Whether a table's snapshots have this file among their lists and manifests."""
    path = urlsplit(location).path
    for snapshot in table.metadata.snapshots:
        if urlsplit(snapshot.manifest_list).path == path:
            return True
        # Another may be let go in this very moment.
        with contextlib.suppress(FileNotFoundError):
            manifests = snapshot.manifests(table.io)
            if any(urlsplit(one.manifest_path).path == path for one in manifests):
                return True
    return False


def remove_let_go(before: Table, after: Table, gone: Sequence[Snapshot]) -> None:
    """Remove what only the snapshots that went referred to: their lists, and merged manifests."""
    lists = [snapshot.manifest_list for snapshot in gone]
    manifests: set[str] = set()
    if gone and _is_one_line(before) and _is_one_line(after):
        # What went was the beginning of the one line there is. What the oldest that stays does
        # not have, none after it has: manifests do not come back.
        line = list(main_line(after))
        kept = {one.manifest_path for one in line[-1].manifests(after.io)}
        for snapshot in gone:
            manifests |= {one.manifest_path for one in snapshot.manifests(before.io)} - kept
    remove_quietly(after.io, [*lists, *sorted(manifests)])


def _number(properties: Mapping[str, str], name: str) -> int | None:
    said = properties.get(name, "")
    return max(1, int(said)) if said.isdecimal() else None


def _is_own(snapshot: Snapshot, own: str) -> bool:
    return snapshot.summary is not None and own in snapshot.summary.additional_properties


def _grew(following: Sequence[Snapshot]) -> bool:
    return [one.summary and one.summary.operation for one in following] == [Operation.APPEND]


def _is_one_line(table: Table) -> bool:
    """Whether there is nothing but main's own line: no branch, no tag, no staged snapshot."""
    whole = len(list(main_line(table))) == len(table.metadata.snapshots)
    return whole and set(table.metadata.refs) == {MAIN_BRANCH}
