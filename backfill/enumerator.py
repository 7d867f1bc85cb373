"""From tables to a plan: list the files, cut what is too wide, put all in steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from backfill.cutting import at_times
from backfill.plan import WORST, Order, Plan, PlannedSource, planned_source
from backfill.planner import Limits, Step, bounded, unordered
from backfill.strict import strict
from backfill.widening import given, widened
from headrace.landing.completeness import is_beyond
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backfill.period import Period
    from backfill.source import Found, LakeSource
    from backfill.strict import Stretch
    from backfill.units import Unit
    from backfill.widening import Timed, Watermark

T = TypeVar("T")
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
    watermarks: Sequence[Watermark] = (),
    widen_by_us: int | None = None,
) -> Plan:
    """Plan a replay of all sources together; every source is listed at its pinned snapshot.

    In bounded order no step goes on beyond one of those times. Watermarks are widened as the steps
    ask, or by as much as is given.
    """
    found = {source.name: source.files() for source in sources}
    files = {name: one.units for name, one in found.items()}
    widest = {
        name: max((unit.width_us for unit in found), default=0) for name, found in files.items()
    }
    units = files
    arrived: Mapping[str, Sequence[Timed]] = files
    if order == "strict":
        stretches = _stretches(sources, files, threshold_us)
        arrived, steps = stretches, list(strict(_all(stretches), threshold_us, limits))
        units = _units_of(steps, sources)
    elif order == "any":
        steps = list(unordered(_all(files), limits))
    else:
        cut = {
            source.name: _narrowed(source, files[source.name], threshold_us) for source in sources
        }
        widest = {name: widest_us for name, (_, widest_us) in cut.items()}
        arrived = {name: found for name, (found, _) in cut.items()}
        pieces = at_times((unit for found, _ in cut.values() for unit in found), ends_us)
        steps = list(bounded(pieces, threshold_us, limits, ends_us))
        units = _units_of(steps, sources)
    planned = tuple(
        _with_what_is_missing(
            replace(
                planned_source(name, source.snapshot_id, files[name], units[name], widest[name]),
                schema_id=source.schema_id,
                conditions=source.conditions,
            ),
            source,
            found[name],
            period,
        )
        for source in sources
        for name in [source.name]
    )
    marked = (
        widened(watermarks, steps, arrived)
        if widen_by_us is None
        else given(watermarks, widen_by_us)
    )
    return Plan(
        period,
        tuple(regions),
        order,
        threshold_us,
        planned,
        tuple(_without_events(step) for step in steps) if watermarks else tuple(steps),
        sources[0].time_column,
        watermarks=marked,
    )


def _without_events(step: Step) -> Step:
    """Return a step without what only the watermarks were planned by: a plan may be large."""
    return replace(step, units=tuple(unit.without_events() for unit in step.units))


def _with_what_is_missing(
    planned: PlannedSource, source: LakeSource, found: Found, period: Period
) -> PlannedSource:
    null_times = sum(one.rows for one in found.without_time)
    upto = source.complete_up_to
    most = sorted(found.without_time, key=lambda one: (-one.rows, one.path))[:WORST]
    return replace(
        planned,
        rows=planned.rows + null_times,
        files_skipped=found.files_skipped,
        rows_skipped=found.rows_skipped,
        null_times=null_times,
        null_times_in=tuple(most),
        complete_up_to=None
        if upto is None or upto.time_us is None
        else format_time_us(upto.time_us),
        beyond_complete=None if upto is None else is_beyond(upto, period.end_us_exclusive),
    )


def _all(found: Mapping[str, Sequence[T]]) -> list[T]:
    return [one for held in found.values() for one in held]


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


def _stretches(
    sources: Sequence[LakeSource], files: dict[str, list[Unit]], threshold_us: int
) -> dict[str, list[Stretch]]:
    """Look up which offsets are where: in strict order, time alone does not say."""
    found: dict[str, list[Stretch]] = {}
    for source in sources:
        with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
            look_up = partial(source.stretches, threshold_us=threshold_us)
            read = pool.map(look_up, files[source.name])
            found[source.name] = [stretch for stretches in read for stretch in stretches]
    return found


def _units_of(steps: Sequence[Step], sources: Sequence[LakeSource]) -> dict[str, list[Unit]]:
    found: dict[str, list[Unit]] = {source.name: [] for source in sources}
    for unit in (unit for step in steps for unit in step.units):
        found[unit.source].append(unit)
    return found
