"""A whole replay, decided before it begins: pinned sources, steps, and what they cost."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from backfill.period import Period
from backfill.planner import Step
from backfill.units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable

Order = Literal["bounded", "any"]


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """One table in a plan. `bytes_read_again` is what cutting row groups by time costs."""

    name: str
    snapshot_id: int | None
    files: int
    files_cut: int
    units: int
    rows: int
    size_bytes: int
    bytes_read_again: int
    widest_file_us: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a replay will do, in which order. `threshold_us` counts in bounded order alone."""

    period: Period
    regions: tuple[str, ...]
    order: Order
    threshold_us: int
    sources: tuple[PlannedSource, ...]
    steps: tuple[Step, ...]

    @property
    def rows(self) -> int:
        """How many rows there are by metadata: at the period's edges there may be fewer."""
        return sum(step.rows for step in self.steps)

    @property
    def smallest_free_threshold_us(self) -> int:
        """The smallest threshold at which no file would have to be cut."""
        return max((source.widest_file_us for source in self.sources), default=0)

    @property
    def state_window_us(self) -> int:
        """How much time an application has to keep in mind at the most: the widest step."""
        return max((span_us(step) for step in self.steps), default=0)

    def to_json(self) -> str:
        """Write the plan; a resumed replay reads it again."""
        whole = {
            "period": asdict(self.period),
            "regions": self.regions,
            "order": self.order,
            "threshold_us": self.threshold_us,
            "sources": [asdict(source) for source in self.sources],
            "steps": [
                {
                    "number": step.number,
                    "frontier_us": step.frontier_us,
                    "units": [asdict(unit) for unit in step.units],
                }
                for step in self.steps
            ],
        }
        return json.dumps(whole, indent=1)


def plan_from_json(text: str) -> Plan:
    """Read a plan that was written."""
    whole: dict[str, Any] = json.loads(text)
    return Plan(
        period=Period(**whole["period"]),
        regions=tuple(whole["regions"]),
        order=whole["order"],
        threshold_us=whole["threshold_us"],
        sources=tuple(PlannedSource(**source) for source in whole["sources"]),
        steps=tuple(
            Step(
                step["number"],
                step["frontier_us"],
                tuple(_unit(unit) for unit in step["units"]),
            )
            for step in whole["steps"]
        ),
    )


def planned_source(
    name: str, snapshot_id: int | None, files: Iterable[Unit], units: Iterable[Unit]
) -> PlannedSource:
    """Sum up what a table brings into a plan."""
    all_files, all_units = list(files), list(units)
    pieces = Counter(unit.path for unit in all_units)
    held = sum(file.size_bytes for file in all_files)
    return PlannedSource(
        name=name,
        snapshot_id=snapshot_id,
        files=len(all_files),
        files_cut=sum(1 for count in pieces.values() if count > 1),
        units=len(all_units),
        rows=sum(unit.rows for unit in all_units),
        size_bytes=held,
        bytes_read_again=_read_again(all_units),
        widest_file_us=max((file.width_us for file in all_files), default=0),
    )


def span_us(step: Step) -> int:
    """Return how much time a step holds."""
    return max(unit.max_ts_us for unit in step.units) - step.frontier_us


def _read_again(units: Iterable[Unit]) -> int:
    """Return the bytes of row groups beyond the first time that they are read."""
    seen: set[tuple[str, tuple[int, int] | None]] = set()
    again = 0
    for unit in units:
        if unit.window_us is None:
            continue
        place = unit.path, unit.row_groups
        again += unit.size_bytes if place in seen else 0
        seen.add(place)
    return again


def _unit(fields: dict[str, Any]) -> Unit:
    pair = {
        name: None if fields[name] is None else (fields[name][0], fields[name][1])
        for name in ("row_groups", "window_us")
    }
    return Unit(**{**fields, **pair})
