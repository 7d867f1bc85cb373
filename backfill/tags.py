"""Holding a snapshot while a replay needs it, by a tag that expiry respects."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyiceberg.table import Table

    from backfill.source import LakeSource

PREFIX = "headrace-replay-"
# A lookup has a tag for each of its snapshots: the run, this, and the snapshot's id.
OF = "@"
log = structlog.get_logger(__name__)


def hold(source: LakeSource, run_id: str) -> None:
    """Tag the pinned snapshot; where that cannot be done, say what may happen."""
    if source.snapshot_id is not None:
        # A commit brings a table to what it is now, and a source stays at what was planned.
        _hold(copy(source.table), source.name, {PREFIX + run_id: source.snapshot_id})


def hold_all(table: Table, name: str, snapshots: Iterable[int], run_id: str) -> None:
    """Tag the snapshots of a lookup, in one commit; where that cannot be done, say so as well."""
    _hold(table, name, {f"{PREFIX}{run_id}{OF}{one}": one for one in snapshots})


def release(table: Table, run_id: str) -> bool:
    """Remove the tags of a run that has ended; whether there were any."""
    table.refresh()
    own = [name for name in table.metadata.refs if _is_of(name, run_id)]
    if not own:
        return False
    with table.manage_snapshots() as change:
        for name in own:
            change.remove_tag(name)
    return True


def _hold(table: Table, name: str, wanted: dict[str, int]) -> None:
    # A run that was planned anew, under the name that it had, needs another snapshot.
    held = {name: ref.snapshot_id for name, ref in table.metadata.refs.items()}
    missing = {tag: one for tag, one in wanted.items() if held.get(tag) != one}
    if not missing:
        return
    try:
        with table.manage_snapshots() as change:
            for tag, snapshot_id in missing.items():
                change.create_tag(snapshot_id, tag)
    except Exception as problem:  # noqa: BLE001 - a catalog without the right to write must not end a read
        log.warning(
            "the snapshot could not be tagged: an expiry during the replay may take its files",
            table=name,
            reason=type(problem).__name__,
        )


def _is_of(tag: str, run_id: str) -> bool:
    of_run, _, snapshot_id = tag.removeprefix(PREFIX + run_id).partition(OF)
    return (
        tag.startswith(PREFIX + run_id)
        and not of_run
        and (snapshot_id.isdecimal() or tag == PREFIX + run_id)
    )
