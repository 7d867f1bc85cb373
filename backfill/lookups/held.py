"""Holding the snapshots of lookups while a replay needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill import tags
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backfill.lookups.planned import PlannedLookup
    from headrace.config.workspace import Workspace


def hold_lookups(workspace: Workspace, lookups: Iterable[PlannedLookup], run_id: str) -> None:
    """Tag every snapshot that a replay joins with."""
    for one in lookups:
        tags.hold_all(load_table(workspace, one.table), one.table, one.snapshots, run_id)
