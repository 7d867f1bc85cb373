"""From a request to a plan: list the files, cut what is too wide, put all in steps."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import structlog
from msgspec import structs

from backfill.lookups.resolve import ends_of_steps, histories, plan_lookups
from backfill.plan.cutting import cut_at_times
from backfill.plan.plan import WORST, Plan, PlannedSource, planned_source
from backfill.plan.preconditions import require_whole
from backfill.plan.steps import bounded, unordered
from backfill.plan.strict import strict
from backfill.plan.widening import widen, widened_as_given
from backfill.read.enumerator import FileEnumerator
from backfill.read.source import LakeSource
from backfill.run.watermarks import resolve_watermarks
from headrace.landing.completeness import complete_up_to
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from backfill.plan.conditions import Condition
    from backfill.plan.period import Period
    from backfill.plan.steps import Step
    from backfill.plan.strict import Stretch
    from backfill.plan.units import Unit
    from backfill.plan.widening import Watermark
    from backfill.read.enumerator import FileList
    from backfill.run.request import ReplayRequest
    from headrace.config.workspace.workspace import Workspace

T = TypeVar("T")
FILES_AT_ONCE = 4
log = structlog.get_logger(__name__)


def plan_of(
    workspace: Workspace,
    request: ReplayRequest,
    conditions: Mapping[str, Sequence[Condition]] | None = None,
    watermarks: Sequence[Watermark] = (),
) -> Plan:
    """Plan a replay, and do nothing else; of a table with conditions only rows that meet them.

    Every table is listed at the snapshot that it has now. In bounded order a step ends where a
    lookup changes. Watermarks are widened as the steps ask, or by as much as is given.
    """
    marked = resolve_watermarks(workspace, watermarks, request.time_column)
    looked_up = histories(workspace, request.lookups)
    tables = {
        name: FileEnumerator(
            LakeSource(
                workspace,
                name,
                request.period,
                request.regions,
                time_column=request.time_column,
                conditions=(conditions or {}).get(name, ()),
            ),
            scan=request.scan,
            events=marked.events(name) if request.widen_by_us is None else None,
        )
        for name in dict.fromkeys(request.tables)
    }
    files = {name: table.files() for name, table in tables.items()}
    laid = _lay_out(tables, files, request, ends_of_steps(looked_up, request.period, request.order))
    sources = tuple(
        _planned_source(table, files[name], laid, request.period) for name, table in tables.items()
    )
    for table, planned in zip(tables.values(), sources, strict=True):
        if not planned.files + planned.files_skipped:
            _warn_of_other_times(table)
    if request.widen_by_us is None:
        widened = (*widen(marked.known, laid.steps, laid.arrived), *marked.unknown)
    else:
        widened = widened_as_given((*marked.known, *marked.unknown), request.widen_by_us)
    return Plan(
        request.period,
        request.regions,
        request.order,
        request.threshold_us,
        sources,
        tuple(map(_without_events, laid.steps) if marked.known else laid.steps),
        request.time_column,
        lookups=plan_lookups(looked_up, laid.steps),
        watermarks=widened,
    )


def plan_to_run(
    workspace: Workspace,
    request: ReplayRequest,
    conditions: Mapping[str, Sequence[Condition]] | None = None,
    watermarks: Sequence[Watermark] = (),
) -> Plan:
    """Plan a replay that is to be run: refused where rows of it have no time, or are still to come."""
    plan = plan_of(workspace, request, conditions, watermarks)
    require_whole(plan, request, time.time_ns() // 1_000)
    return plan


def sources_of(
    workspace: Workspace, plan: Plan, columns: Sequence[str] = ()
) -> dict[str, LakeSource]:
    """Return the tables at the snapshots that a plan has pinned."""
    return {
        source.name: LakeSource(
            workspace,
            source.name,
            plan.period,
            plan.regions,
            snapshot_id=source.snapshot_id,
            schema_id=source.schema_id,
            columns=columns,
            time_column=plan.time_column,
            conditions=source.conditions,
        )
        for source in plan.sources
    }


@dataclass(frozen=True, slots=True)
class _Layout:
    """The steps; by table its units in them, the widest row group, and what arrived when."""

    steps: list[Step]
    units: Mapping[str, Sequence[Unit]]
    widest_us: Mapping[str, int]
    arrived: Mapping[str, Sequence[Unit | Stretch]]


def _lay_out(
    tables: Mapping[str, FileEnumerator],
    listed: Mapping[str, FileList],
    request: ReplayRequest,
    ends_us: Sequence[int],
) -> _Layout:
    files = {name: found.units for name, found in listed.items()}
    widest_us = {name: max((one.width_us for one in of), default=0) for name, of in files.items()}
    limits, threshold_us = request.limits, request.threshold_us
    if request.order == "any":
        return _Layout(list(unordered(_all(files), limits)), files, widest_us, files)
    if request.order == "strict":
        # Which offsets are where is looked up: time alone does not say.
        stretches = {
            name: list(
                chain.from_iterable(
                    _in_threads(partial(table.stretches, threshold_us=threshold_us), files[name])
                )
            )
            for name, table in tables.items()
        }
        steps = list(strict(_all(stretches), threshold_us, limits))
        return _Layout(steps, _units_of(steps, tables), widest_us, stretches)
    narrow = {name: _narrow(table, files[name], threshold_us) for name, table in tables.items()}
    arrived = {name: units for name, (units, _) in narrow.items()}
    steps = list(bounded(cut_at_times(_all(arrived), ends_us), threshold_us, limits, ends_us))
    widest_us = {name: width_us for name, (_, width_us) in narrow.items()}
    return _Layout(steps, _units_of(steps, tables), widest_us, arrived)


def _narrow(
    table: FileEnumerator, files: Sequence[Unit], threshold_us: int
) -> tuple[list[Unit], int]:
    """Cut the files that span more time than the threshold; returns the widest row group too."""
    units = [file for file in files if file.width_us <= threshold_us]
    widest_us = max((file.width_us for file in units), default=0)
    wide = [file for file in files if file.width_us > threshold_us]
    for pieces, group_us in _in_threads(partial(table.cut, threshold_us=threshold_us), wide):
        units += pieces
        widest_us = max(widest_us, group_us)
    return units, widest_us


def _in_threads(work: Callable[[Unit], T], files: Sequence[Unit]) -> list[T]:
    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        return list(pool.map(work, files))


def _all(found: Mapping[str, Sequence[T]]) -> list[T]:
    return [one for of in found.values() for one in of]


def _units_of(steps: Sequence[Step], tables: Iterable[str]) -> dict[str, list[Unit]]:
    found: dict[str, list[Unit]] = {name: [] for name in tables}
    for unit in (unit for step in steps for unit in step.units):
        found[unit.source].append(unit)
    return found


def _without_events(step: Step) -> Step:
    """Return a step without what only the watermarks were planned by: a plan may be large."""
    return replace(step, units=tuple(structs.replace(unit, events=()) for unit in step.units))


def _planned_source(
    table: FileEnumerator, files: FileList, laid: _Layout, period: Period
) -> PlannedSource:
    source, upto = table.source, complete_up_to(table.source.table.properties)
    name = source.name
    planned = planned_source(
        name, source.snapshot_id, files.units, laid.units[name], laid.widest_us[name]
    )
    null_times = sum(one.rows for one in files.without_time)
    most = sorted(files.without_time, key=lambda one: (-one.rows, one.path))[:WORST]
    complete_us = is_beyond = None
    if upto is not None:
        complete_us = upto.time_us
        is_beyond = complete_us is None or period.end_us_exclusive > complete_us
    return replace(
        planned,
        schema_id=source.schema.schema_id,
        conditions=source.conditions,
        rows=planned.rows + null_times,
        files_skipped=files.files_skipped,
        rows_skipped=files.rows_skipped,
        null_times=null_times,
        null_times_in=tuple(most),
        complete_up_to=None if complete_us is None else format_time_us(complete_us),
        beyond_complete=is_beyond,
    )


def _warn_of_other_times(table: FileEnumerator) -> None:
    if (span := table.whole_span_us()) is not None:
        its_rows = " to ".join(map(format_time_us, span))
        log.warning("no rows in the period", table=table.source.name, it_has=its_rows)
