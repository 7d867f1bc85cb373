"""Moving a table's main branch back, under the condition that it has not moved on meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update import (
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
)

from headrace.iceberg.append import commit_if, on_head

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.update import TableUpdate


def change_property(table: Table, name: str, value: str | None) -> None:
    """Give a property a value, or take it away, while the table has exactly this head."""
    commit_if((on_head(table),), table, [_property(name, value)])


def roll_back(table: Table, snapshot_id: int | None, name: str, value: str | None) -> None:
    """Move main to a snapshot behind it, or to nothing, and change a property with it.

    The snapshots that main leaves stay in the table until they expire.
    """
    main = table.metadata.refs[MAIN_BRANCH]
    back: TableUpdate = RemoveSnapshotRefUpdate(ref_name=MAIN_BRANCH)
    if snapshot_id is not None:
        kept = {
            "max_ref_age_ms": main.max_ref_age_ms,
            "max_snapshot_age_ms": main.max_snapshot_age_ms,
            "min_snapshots_to_keep": main.min_snapshots_to_keep,
        }
        back = SetSnapshotRefUpdate(
            ref_name=MAIN_BRANCH, type=SnapshotRefType.BRANCH, snapshot_id=snapshot_id, **kept
        )
    commit_if((on_head(table),), table, [back, _property(name, value)])


def _property(name: str, value: str | None) -> TableUpdate:
    if value is None:
        return RemovePropertiesUpdate(removals=[name])
    return SetPropertiesUpdate(updates={name: value})
