"""The stages of an application's replay: where its query ends and goes on, with less to wait for.

The least of all watermarks counts. A source without rows, or one whose rows have ended long before
the others', would hold it where it is: no window would be emitted any more, and all state be kept.
So where a source has finished the query is started again, and the source's watermark holds nobody.

At the end all records are delivered, and no watermark needs to be wider than live any more: the
last stage has no rows, and the watermark that a live run has by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backfill.plan import Plan


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps that one query goes through, up to before `until`; which tables have finished before."""

    first: int
    until: int
    finished: frozenset[str] = frozenset()
    is_end: bool = False


def stages_of(plan: Plan) -> list[Stage]:
    """Return the stages of a plan, at least one."""
    ends, count = finished_from(plan), plan.steps_with_records
    starts = sorted({0, *(step for step in ends.values() if step < count)})
    found = [
        Stage(first, until, frozenset(table for table, step in ends.items() if step <= first))
        for first, until in zip(starts, [*starts[1:], count], strict=True)
    ]
    if plan.has_end:
        found.append(Stage(count, len(plan.steps), is_end=True))
    return found


def finished_from(plan: Plan) -> dict[str, int]:
    """Return for each table with a watermark from which step on it holds nobody.

    That is where the others are further than the threshold beyond its last record. Those that are
    the last are never let go of.
    """
    marked = {one.table for one in plan.watermarks}
    last: dict[str, int] = dict.fromkeys(marked, -1)
    newest: dict[str, int] = {}
    for number, step in enumerate(plan.steps):
        for unit in step.units:
            if unit.source in marked:
                last[unit.source] = number
                newest[unit.source] = max(unit.max_ts_us, newest.get(unit.source, unit.max_ts_us))
    found = {
        table: next(
            (
                step.number
                for step in plan.steps[number + 1 :]
                if table not in newest or step.frontier_us > newest[table] + plan.threshold_us
            ),
            len(plan.steps),
        )
        for table, number in last.items()
    }
    until = max(last.values(), default=-1)
    return {table: step for table, step in found.items() if step <= until}


def widened_at_the_end_us(plan: Plan) -> int:
    """Return by how much all watermarks that still count at the end are wider than live, at least."""
    gone = finished_from(plan)
    left = [one.widened_by_us or 0 for one in plan.watermarks if one.table not in gone]
    return min(left, default=0)
