"""Appending files under a condition that the catalog itself checks.

pyiceberg's own append tries again on whatever the table's head has become in between. Here the
commit names the one parent that its caller has looked at; on any other it is refused. Nor is its
producer of snapshots used without that retry: it copies all metadata at each look (4 ms of CPU
beside 250 snapshots, a dozen times a commit), and writes every file by the table's present spec.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import (
    Operation,
    Snapshot,
    SnapshotSummaryCollector,
    Summary,
    update_snapshot_summaries,
)
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from headrace.iceberg.manifests import ManifestDraft

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile
    from pyiceberg.table.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class Append:
    """One commit: files, what it says of itself, and the properties that change with it."""

    snapshot_id: int
    files: Sequence[DataFile]
    summary: Mapping[str, str]
    properties: Mapping[str, str]
    expired: Sequence[Snapshot] = ()


class HeadMoved(Exception):
    """The catalog refused: the table has another head than the append was made for.

    `written` is what nothing refers to, once the snapshot is seen not to be there: a client that
    sends a request twice hears of a refusal when its first one was taken.
    """

    def __init__(self, why: str, written: Sequence[str]) -> None:
        super().__init__(why)
        self.written = tuple(written)


class NoAnswer(Exception):
    """The catalog was asked and its answer is not known: it may have done it."""


def append(table: Table, commit: Append) -> Table:
    """Add a snapshot on top of exactly this table's head; returns the table with it."""
    parent = table.current_snapshot()
    draft = ManifestDraft(table, commit.snapshot_id)
    snapshot = _snapshot(table, parent, commit, draft)
    return commit_if((on_head(table),), table, _changes(table, commit, snapshot), draft.written)


def change_property(table: Table, name: str, value: str | None) -> None:
    """Give a property a value, or take it away; `HeadMoved` where the table has another head."""
    commit_if((on_head(table),), table, [_property(name, value)])


def remove_quietly(io: FileIO, locations: Iterable[str]) -> None:
    """Remove files that nothing refers to. One that stays is an orphan, and found as one."""
    for location in locations:
        with contextlib.suppress(Exception):
            io.delete(location)


def _snapshot(
    table: Table, parent: Snapshot | None, commit: Append, draft: ManifestDraft
) -> Snapshot:
    metadata = table.metadata
    sequence_number = metadata.next_sequence_number()
    held = [] if parent is None else parent.manifests(table.io)
    live = [one for one in held if one.has_added_files() or one.has_existing_files()]
    manifests = [*draft.added(commit.files), *draft.tidied(live)]
    location = draft.list_of(manifests, parent, sequence_number)
    return Snapshot(
        snapshot_id=commit.snapshot_id,
        parent_snapshot_id=None if parent is None else parent.snapshot_id,
        sequence_number=sequence_number,
        manifest_list=location,
        summary=_summary(metadata, parent, commit),
        schema_id=metadata.current_schema_id,
    )


def _summary(metadata: TableMetadata, parent: Snapshot | None, commit: Append) -> Summary:
    collected = SnapshotSummaryCollector()
    for file in commit.files:
        collected.add_file(file, metadata.schema(), metadata.specs()[file.spec_id])
    said = Summary(Operation.APPEND, **collected.build(), **commit.summary)
    return update_snapshot_summaries(said, None if parent is None else parent.summary)


def _changes(table: Table, commit: Append, snapshot: Snapshot) -> list[TableUpdate]:
    updates: list[TableUpdate] = [
        AddSnapshotUpdate(snapshot=snapshot),
        _main_at(table, commit.snapshot_id),
        SetPropertiesUpdate(updates=dict(commit.properties)),
    ]
    if commit.expired:
        gone = [snapshot.snapshot_id for snapshot in commit.expired]
        updates.append(RemoveSnapshotsUpdate(snapshot_ids=gone))
    return updates


def _main_at(table: Table, snapshot_id: int) -> TableUpdate:
    """Return what moves main to a snapshot; how long its snapshots are to stay, stays."""
    main = table.metadata.refs.get(MAIN_BRANCH)
    return SetSnapshotRefUpdate(
        ref_name=MAIN_BRANCH,
        type=SnapshotRefType.BRANCH,
        snapshot_id=snapshot_id,
        max_ref_age_ms=None if main is None else main.max_ref_age_ms,
        max_snapshot_age_ms=None if main is None else main.max_snapshot_age_ms,
        min_snapshots_to_keep=None if main is None else main.min_snapshots_to_keep,
    )


def on_head(table: Table) -> TableRequirement:
    """Return the condition that main is still where it was seen."""
    return AssertRefSnapshotId(ref=MAIN_BRANCH, snapshot_id=table.metadata.current_snapshot_id)


def commit_if(
    conditions: Sequence[TableRequirement],
    table: Table,
    updates: Sequence[TableUpdate],
    written: Sequence[str] = (),
) -> Table:
    """Change the table once, where the conditions hold; `HeadMoved` where one does not.

    `written` are the files that only this commit refers to. `NoAnswer` where nobody knows.
    """
    requirements = (AssertTableUUID(uuid=table.metadata.table_uuid), *conditions)
    try:
        response = table.catalog.commit_table(table, requirements, tuple(updates))
    except CommitFailedException as refused:
        raise HeadMoved(str(refused), written) from refused
    except Exception as problem:
        # Timeouts, broken connections, a locked file: each kind of catalog has its own.
        raise NoAnswer(f"{type(problem).__name__}: {problem}") from problem
    after = Table(
        table.name(),
        response.metadata,
        response.metadata_location,
        table.io,
        table.catalog,
        table.config,
    )
    _remove_old_metadata(table, after)
    return after


def _remove_old_metadata(before: Table, after: Table) -> None:
    """Do what the table asks of every writer, so that old metadata does not pile up."""
    if before.properties.get("write.metadata.delete-after-commit.enabled") != "true":
        return
    kept = {entry.metadata_file for entry in after.metadata.metadata_log}
    old = [entry.metadata_file for entry in before.metadata.metadata_log]
    remove_quietly(after.io, [location for location in old if location not in kept])


def roll_back(table: Table, snapshot_id: int | None, name: str, value: str | None) -> None:
    """Move main to a snapshot behind it, or to nothing, and change a property with it.

    The snapshots that main leaves stay in the table until they expire.
    """
    back: TableUpdate = RemoveSnapshotRefUpdate(ref_name=MAIN_BRANCH)
    if snapshot_id is not None:
        back = _main_at(table, snapshot_id)
    commit_if((on_head(table),), table, [back, _property(name, value)])


def _property(name: str, value: str | None) -> TableUpdate:
    if value is None:
        return RemovePropertiesUpdate(removals=[name])
    return SetPropertiesUpdate(updates={name: value})
