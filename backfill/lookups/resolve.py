"""From an application's lookups to snapshots: asked of each table's history before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from backfill.plan.lookups import PlannedLookup, snapshot_runs, step_ends
from headrace.config.app.file import REPLAYED, TODAY
from headrace.errors import Terminal, UsageError
from headrace.iceberg.catalog import load_table
from headrace.iceberg.timeline import Timeline, timeline_of
from headrace.times import format_time_us, parse_time_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyiceberg.table import Table

    from backfill.plan.period import Period
    from backfill.plan.plan import Order
    from backfill.plan.steps import Step
    from headrace.config.app.file import Lookup
    from headrace.config.workspace.workspace import Workspace


class BeforeHistory(Terminal):
    """A lookup's history does not reach back to a time that is to be replayed."""

    def __init__(self, name: str, table: str, time_us: int, begins_us: int | None) -> None:
        wanted = format_time_us(time_us)
        if begins_us is None:
            known, oldest = "has no snapshots", ""
        else:
            begins = format_time_us(begins_us)
            known = f"begins at {begins}: older snapshots have expired or never existed"
            oldest = f" begin the replay at {begins}; or set as_of: {begins}, the oldest state;"
        super().__init__(
            f"lookup {name} needs its state at {wanted}, but the history of {table} {known}",
            f"nothing was started:{oldest} or as_of: today",
        )


@dataclass(frozen=True, slots=True)
class LookupHistory:
    """A lookup's table as it is now, and what was current in it when."""

    name: str
    wanted: Lookup
    table: Table
    timeline: Timeline

    @property
    def is_replayed(self) -> bool:
        """Whether each step has a state of its own time."""
        return self.wanted.as_of == REPLAYED

    def fixed(self) -> int | None:
        """Return the one snapshot of a lookup that has but one; None for an empty table's."""
        as_of = self.wanted.as_of
        if as_of == TODAY:
            head = self.table.current_snapshot()
            return None if head is None else head.snapshot_id
        if as_of.isdecimal():
            return self._known(int(as_of))
        return self.at(parse_time_us(as_of))

    def at(self, time_us: int) -> int:
        """Return the snapshot that was current at a time."""
        found = self.timeline.at(time_us)
        if found is None:
            table = self.wanted.identifier
            raise BeforeHistory(self.name, table, time_us, self.timeline.begins_us)
        return self._known(found)

    def _known(self, snapshot_id: int) -> int:
        if self.table.snapshot_by_id(snapshot_id) is None:
            raise UsageError(
                f"lookup {self.name}: {self.wanted.identifier} has no snapshot {snapshot_id}",
                "it has expired, or it belongs to another table: set as_of: replayed, today or a "
                "time",
            )
        return snapshot_id


def histories(workspace: Workspace, lookups: Mapping[str, Lookup]) -> list[LookupHistory]:
    """Load the tables of lookups, and what their histories tell."""
    found = []
    for name, wanted in lookups.items():
        table = load_table(workspace, wanted.identifier)
        found.append(LookupHistory(name, wanted, table, timeline_of(table.metadata)))
    return found


def ends_of_steps(found: Iterable[LookupHistory], period: Period, order: Order) -> list[int]:
    """Return where steps are to end so that a lookup changes between two of them."""
    replayed = [one for one in found if one.is_replayed]
    if replayed and order != "bounded":
        goes_by = "no time" if order == "any" else "offsets, whose steps do not end at a time"
        raise UsageError(
            f"lookup {replayed[0].name} needs the state of each step's time, but --order {order} "
            f"goes by {goes_by}",
            "--order bounded; or for the lookup as_of: today, or a time",
        )
    within = period.start_us, period.end_us_exclusive
    return step_ends({time for one in replayed for time in one.timeline.times_within(*within)})


def plan_lookups(
    found: Iterable[LookupHistory], steps: Sequence[Step]
) -> tuple[PlannedLookup, ...]:
    """Return which snapshots a replay joins with; refuse what is no longer known."""
    return tuple(
        PlannedLookup(
            one.name,
            one.wanted.identifier,
            one.wanted.as_of,
            one.table.schema().model_dump_json(),
            snapshot_runs([one.at(step.frontier_us) for step in steps])
            if one.is_replayed
            else ((0, one.fixed()),),
        )
        for one in found
    )
