"""From tables to a plan: list the files, cut what is too wide, put all in steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from backfill.cutting import at_times
from backfill.plan import Order, Plan, planned_source
from backfill.planner import Limits, Step, bounded, unordered
from backfill.strict import strict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backfill.period import Period
    from backfill.source import LakeSource
    from backfill.strict import Stretch
    from backfill.units import Unit

STEP_LIMITS = Limits(max_rows=2_000_000, max_bytes=512 * 2**20)
FILES_AT_ONCE = 4


def make_plan(  # noqa: PLR0913 - a plan is of these
    sources: Sequence[LakeSource],
    period: Period,
    regions: Sequence[str],
    order: Order,
    threshold_us: int,
    *,
    limits: Limits = STEP_LIMITS,
    ends_us: Sequence[int] = (),
) -> Plan:
    """Plan a replay of all sources together; every source is listed at its pinned snapshot.

    In bounded order no step goes on beyond one of those times.
    """
    found = {source.name: source.files() for source in sources}
    files = {name: one.units for name, one in found.items()}
    widest = {
        name: max((unit.width_us for unit in found), default=0) for name, found in files.items()
    }
    units = files
    if order == "strict":
        steps = _strict(sources, files, threshold_us, limits)
        units = _units_of(steps, sources)
    elif order == "any":
        steps = list(unordered(_all(files), limits))
    else:
        cut = {
            source.name: _narrowed(source, files[source.name], threshold_us) for source in sources
        }
        widest = {name: widest_us for name, (_, widest_us) in cut.items()}
        pieces = at_times((unit for found, _ in cut.values() for unit in found), ends_us)
        steps = list(bounded(pieces, threshold_us, limits, ends_us))
        units = _units_of(steps, sources)
    planned = tuple(
        replace(
            planned_source(name, source.snapshot_id, files[name], units[name], widest[name]),
            schema_id=source.schema_id,
            conditions=source.conditions,
            files_skipped=found[name].files_skipped,
            rows_skipped=found[name].rows_skipped,
        )
        for source in sources
        for name in [source.name]
    )
    time_column = sources[0].time_column
    return Plan(period, tuple(regions), order, threshold_us, planned, tuple(steps), time_column)


def _all(units: Mapping[str, Sequence[Unit]]) -> list[Unit]:
    return [unit for found in units.values() for unit in found]


def _narrowed(
    source: LakeSource, files: Sequence[Unit], threshold_us: int
) -> tuple[list[Unit], int]:
    """Cut the files that span more time than the threshold; returns the widest row group too."""
    units = [file for file in files if file.width_us <= threshold_us]
    widest_us = max((file.width_us for file in units), default=0)
    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        wide = [file for file in files if file.width_us > threshold_us]
        for pieces, group_us in pool.map(partial(source.cut, threshold_us=threshold_us), wide):
            units += pieces
            widest_us = max(widest_us, group_us)
    return units, widest_us


def _strict(
    sources: Sequence[LakeSource],
    files: dict[str, list[Unit]],
    threshold_us: int,
    limits: Limits,
) -> list[Step]:
    """Look up which offsets are where: in this order, time alone does not say."""
    stretches: list[Stretch] = []
    for source in sources:
        with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
            look_up = partial(source.stretches, threshold_us=threshold_us)
            read = pool.map(look_up, files[source.name])
            stretches += [stretch for found in read for stretch in found]
    return list(strict(stretches, threshold_us, limits))


def _units_of(steps: Sequence[Step], sources: Sequence[LakeSource]) -> dict[str, list[Unit]]:
    found: dict[str, list[Unit]] = {source.name: [] for source in sources}
    for unit in (unit for step in steps for unit in step.units):
        found[unit.source].append(unit)
    return found
