"""What a table has altogether, by its newest snapshot: nothing is read for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.landing.commit_state import SUMMARY, CommitState

if TYPE_CHECKING:
    from pyiceberg.table import Table


@dataclass(frozen=True, slots=True)
class TableTotals:
    """What a table has altogether, and when its writer committed last; None is not known."""

    rows: int | None = None
    files: int | None = None
    last_commit_us: int | None = None


def totals_of(table: Table, writer: str) -> TableTotals:
    """Return what a table has, as its newest snapshot says."""
    snapshot = table.current_snapshot()
    summary = None if snapshot is None else snapshot.summary
    if summary is None:
        return TableTotals(0, 0) if snapshot is None else TableTotals()
    rows, files = (summary.get(f"total-{what}") for what in ("records", "data-files"))
    return TableTotals(
        None if rows is None else int(rows),
        None if files is None else int(files),
        last_commit_us(table, writer),
    )


def last_commit_us(table: Table, writer: str) -> int | None:
    """Return when a writer committed rows last, as far as the table's history goes."""
    for snapshot in reversed(table.metadata.snapshots):
        said = snapshot.summary and snapshot.summary.additional_properties.get(SUMMARY)
        if said and CommitState.from_json(said).identity.writer == writer:
            return snapshot.timestamp_ms * 1_000
    return None
