"""From tables to a plan: list the files, cut what is too wide, put all in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill.plan import Order, Plan, planned_source
from backfill.planner import Limits, bounded, unordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backfill.period import Period
    from backfill.source import LakeSource
    from backfill.units import Unit

STEP_LIMITS = Limits(max_rows=2_000_000, max_bytes=512 * 2**20)


def make_plan(
    sources: Sequence[LakeSource],
    period: Period,
    regions: Sequence[str],
    order: Order,
    threshold_us: int,
) -> Plan:
    """Plan a replay of all sources together; every source is listed at its pinned snapshot."""
    planned = []
    everything: list[Unit] = []
    for source in sources:
        files = source.files()
        units = files if order == "any" else _narrow(source, files, threshold_us)
        planned.append(planned_source(source.name, source.snapshot_id, files, units))
        everything += units
    steps = (
        unordered(everything, STEP_LIMITS)
        if order == "any"
        else bounded(everything, threshold_us, STEP_LIMITS)
    )
    return Plan(period, tuple(regions), order, threshold_us, tuple(planned), tuple(steps))


def _narrow(source: LakeSource, files: Sequence[Unit], threshold_us: int) -> list[Unit]:
    units: list[Unit] = []
    for file in files:
        units += [file] if file.width_us <= threshold_us else source.cut(file, threshold_us)
    return units
