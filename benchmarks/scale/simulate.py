"""Steps on so many readers: who reads what, and how long the slowest takes.

A step ends when its last reader has ended, and only then does the next begin: that is what the
bound costs. Within a step, units are given to readers as the stream in Spark does it: the heaviest
first, each to whoever has the least to do.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from backfill.plan.steps import Step
    from backfill.plan.units import Unit

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Cost:
    """What reading costs one reader: as much for a unit, and as much for each MiB of it.

    A step costs `step_s` however much it holds.
    """

    unit_s: float
    mib_s: float
    step_s: float

    def of(self, unit: Unit) -> float:
        """Return how long one reader reads a unit."""
        return self.unit_s + unit.size_bytes / MIB * self.mib_s


def replay_s(steps: Iterable[Step], cost: Cost, readers: int) -> float:
    """Return how long so many readers take for all steps."""
    return sum(cost.step_s + _step_s(step, cost, readers) for step in steps)


def _step_s(step: Step, cost: Cost, readers: int) -> float:
    costs = [cost.of(unit) for unit in step.units]
    if step.ranges:
        # Each reader of a strict step looks through all of its units for its Kafka partitions.
        return sum(costs)
    return slowest_s(costs, readers)


def slowest_s(costs: Sequence[float], readers: int) -> float:
    """Return when the last of the readers is done."""
    loads = [0.0] * min(readers, len(costs))
    for cost in sorted(costs, reverse=True):
        heapq.heapreplace(loads, loads[0] + cost)
    return max(loads, default=0.0)


def speed_ups(steps: Sequence[Step], cost: Cost, readers: Sequence[int]) -> list[float]:
    """Return how much faster than one each number of readers is."""
    alone_s = replay_s(steps, cost, 1)
    return [alone_s / replay_s(steps, cost, count) if alone_s else 1.0 for count in readers]
