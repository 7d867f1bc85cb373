"""What is said of repeated measurements: medians, spreads, and ratios paired by round."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# With fewer there is nothing between a quartile and the extreme.
ENOUGH_FOR_QUARTILES = 4


@dataclass(frozen=True, slots=True)
class Spread:
    """Some figures, told by their middle and their ends."""

    count: int
    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float


def spread(values: Sequence[float]) -> Spread | None:
    """Return the spread of figures, None where there are none."""
    if not values:
        return None
    low, high = min(values), max(values)
    if len(values) < ENOUGH_FOR_QUARTILES:
        return Spread(len(values), low, low, statistics.median(values), high, high)
    first, median, third = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(len(values), low, first, median, third, high)


def paired_ratios(values: Mapping[int, float], baseline: Mapping[int, float]) -> list[float]:
    """Return a competitor's figure over the baseline's, for each round that has both.

    Within a round both met the same machine; the medians of each alone may come from rounds
    that have nothing in common.
    """
    rounds = sorted(values.keys() & baseline.keys())
    return [values[number] / baseline[number] for number in rounds if baseline[number] > 0]
