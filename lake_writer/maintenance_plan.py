"""What maintenance has to do now, by a table's metadata alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.iceberg.history import to_expire
from lake_writer.compaction import hours_to_compact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.table import Table

    from headrace.iceberg.file_figures import FileFigures


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """The hours to compact (when each begins), and the snapshots that expire.

    `expiring` is None where the table forbids expiry. What nothing refers to is known only to who
    lists the table's folder.
    """

    hours: Sequence[int]
    small_files: int
    expiring: int | None
    manifests: int


def plan_maintenance(table: Table, figures: FileFigures, now_us: int) -> MaintenancePlan:
    """Return what maintenance would do now; `figures` are of the table's files."""
    hours = hours_to_compact(figures.small_by_hour, now_us)
    expiring = to_expire(table, now_us // 1_000)
    return MaintenancePlan(
        hours,
        sum(figures.small_by_hour[one] for one in hours),
        None if expiring is None else len(expiring),
        figures.manifests,
    )
