"""A table's snapshots: the line that led to its head, and those that a writer may let go."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation

from headrace.iceberg.append import remove_quietly

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

# Every commit reads, copies and writes the whole history: some 100 µs of CPU a snapshot. These
# are four hours of a commit a minute, and cost as much as all the rest of a commit.
MOST_SNAPSHOTS: Final = 250
FEWEST_SNAPSHOTS: Final = 100
HISTORY_BYTES: Final = 2 * 2**20
SNAPSHOT_BYTES: Final = 800
MAX_SNAPSHOTS: Final = "headrace.history.max-snapshots"
# More than one, so that a history that has grown too long becomes shorter; few, so that no
# commit takes noticeably longer than another.
LET_GO_AT_ONCE: Final = 3


def main_line(table: Table) -> Iterator[Snapshot]:
    """Yield the snapshots from the head back, as far as they are still known."""
    known = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    at = table.metadata.current_snapshot_id
    while at is not None and at in known:
        yield known[at]
        at = known[at].parent_snapshot_id


def kept_snapshots(table: Table, mark_bytes: int) -> int:
    """Return how many snapshots stay: what they say of themselves counts, for wide topics."""
    said = table.properties.get(MAX_SNAPSHOTS, "")
    if said.isdecimal():
        return max(1, int(said))
    fit = HISTORY_BYTES // (SNAPSHOT_BYTES + mark_bytes)
    return max(FEWEST_SNAPSHOTS, min(MOST_SNAPSHOTS, fit))


def to_let_go(table: Table, own: str, keep: int) -> list[Snapshot]:
    """Return the oldest snapshots that can go without a data file losing its last reference.

    These are a writer's own (told by `own` in the summary) that were followed by an append: all
    their data is in the one that followed. What lies before a compaction or a deletion stays for
    whoever expires snapshots with their files.
    """
    snapshots = table.metadata.snapshots
    surplus = len(snapshots) + 1 - keep
    if surplus <= 0 or table.properties.get("gc.enabled") == "false":
        return []
    held = {ref.snapshot_id for ref in table.metadata.refs.values()}
    following: dict[int | None, list[Snapshot]] = {}
    for snapshot in snapshots:
        following.setdefault(snapshot.parent_snapshot_id, []).append(snapshot)
    oldest = sorted(snapshots, key=lambda one: one.sequence_number or 0)
    found = []
    for snapshot in oldest[:surplus]:
        next_ones = following.get(snapshot.snapshot_id, [])
        if snapshot.snapshot_id not in held and _is_own(snapshot, own) and _grew(next_ones):
            found.append(snapshot)
            if len(found) == LET_GO_AT_ONCE:
                break
    return found


def refers_to(table: Table, place: str) -> bool:
    """Whether a table's snapshots have this file among their lists and manifests."""
    path = urlsplit(place).path
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
    remove_quietly(after, [*lists, *sorted(manifests)])


def _is_own(snapshot: Snapshot, own: str) -> bool:
    return snapshot.summary is not None and own in snapshot.summary.additional_properties


def _grew(following: Sequence[Snapshot]) -> bool:
    return (
        len(following) == 1
        and following[0].summary is not None
        and following[0].summary.operation == Operation.APPEND
    )


def _is_one_line(table: Table) -> bool:
    """Whether there is nothing but main's own line: no branch, no tag, no staged snapshot."""
    whole = len(list(main_line(table))) == len(table.metadata.snapshots)
    return whole and set(table.metadata.refs) == {MAIN_BRANCH}
