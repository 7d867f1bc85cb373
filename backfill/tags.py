"""Holding a snapshot while a replay needs it, by a tag that expiry respects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from backfill.source import LakeSource

PREFIX = "headrace-replay-"
log = structlog.get_logger(__name__)


def hold(source: LakeSource, run_id: str) -> None:
    """Tag the pinned snapshot; where that cannot be done, say what may happen."""
    if source.snapshot_id is None:
        return
    name = PREFIX + run_id
    if name in source.table.metadata.refs:
        return
    try:
        with source.table.manage_snapshots() as change:
            change.create_tag(source.snapshot_id, name)
    except Exception as problem:  # noqa: BLE001 - a catalog without the right to write must not end a read
        log.warning(
            "the snapshot could not be tagged: an expiry during the replay may take its files",
            table=source.name,
            reason=type(problem).__name__,
        )


def release(table: Table, run_id: str) -> bool:
    """Remove the tag of a run that has ended; whether there was one."""
    name = PREFIX + run_id
    table.refresh()
    if name not in table.metadata.refs:
        return False
    with table.manage_snapshots() as change:
        change.remove_tag(name)
    return True
