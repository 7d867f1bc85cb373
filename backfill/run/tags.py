"""Holding a snapshot while a replay needs it, by a tag that expiry respects."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING

import structlog

from backfill.plan.plan import read_head
from headrace.contract import REPLAY_TAG, REPLAY_TAG_OF
from headrace.errors import HeadraceError
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from pyiceberg.table import Table

    from backfill.plan.lookups import PlannedLookup
    from backfill.read.source import LakeSource
    from backfill.run.state import RunState
    from headrace.config.workspace.workspace import Workspace

# A lookup has a tag for each of its snapshots: the run, OF, and the snapshot's id.
PREFIX, OF = REPLAY_TAG, REPLAY_TAG_OF
log = structlog.get_logger(__name__)


def hold(source: LakeSource, run_id: str, at_most: timedelta | None = None) -> None:
    """Tag the pinned snapshot; where that cannot be done, say what may happen.

    After `at_most` an expiry may remove the tag: nobody else would, of a process that was killed.
    """
    if source.snapshot_id is not None:
        # A commit brings a table to what it is now, and a source stays at what was planned.
        _hold(copy(source.table), source.name, {PREFIX + run_id: source.snapshot_id}, at_most)


def hold_lookups(workspace: Workspace, lookups: Iterable[PlannedLookup], run_id: str) -> None:
    """Tag every snapshot that a replay joins with, of each table in one commit."""
    for one in lookups:
        wanted = {f"{PREFIX}{run_id}{OF}{snapshot}": snapshot for snapshot in one.snapshots}
        _hold(load_table(workspace, one.table), one.table, wanted)


def release(table: Table, run_id: str) -> bool:
    """Remove the tags of a run that has ended; whether there were any."""
    table.refresh()
    is_of_run = re.compile(rf"{re.escape(PREFIX + run_id)}({OF}\d+)?")
    own = [name for name in table.metadata.refs if is_of_run.fullmatch(name)]
    if not own:
        return False
    with table.manage_snapshots() as change:
        for name in own:
            change.remove_tag(name)
    return True


def release_all(workspace: Workspace, state: RunState, run_id: str) -> list[str]:
    """Remove the tags of a run from all tables that it reads; returns those that had one."""
    record = state.record()
    lookups = (one.table for one in read_head(state.plan_file).lookups) if state.exists else ()
    tagged = dict.fromkeys((*(() if record is None else record.tables), *lookups))
    return [table for table in tagged if _released(workspace, table, run_id)]


def _released(workspace: Workspace, table: str, run_id: str) -> bool:
    try:
        return release(load_table(workspace, table), run_id)
    except HeadraceError:
        # The table itself is gone, and its tags with it.
        return False


def _hold(
    table: Table, name: str, wanted: dict[str, int], at_most: timedelta | None = None
) -> None:
    age_ms = None if at_most is None else round(at_most.total_seconds() * 1000)
    # A run that was planned again, under the name that it had, needs another snapshot.
    held = {name: ref.snapshot_id for name, ref in table.metadata.refs.items()}
    missing = {tag: one for tag, one in wanted.items() if held.get(tag) != one}
    if not missing:
        return
    try:
        with table.manage_snapshots() as change:
            for tag, snapshot_id in missing.items():
                change.create_tag(snapshot_id, tag, age_ms)
    except Exception as problem:  # noqa: BLE001 - a catalog without the right to write must not end a read
        log.warning(
            "the snapshot could not be tagged; its files may be removed during the replay if it "
            "expires",
            table=name,
            reason=type(problem).__name__,
        )
