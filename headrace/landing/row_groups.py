"""Where the row groups of a sorted file end: a replay of a minute shall not read an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ROWS: Final = 128 * 1024
MOST_SPAN_US: Final = 10 * 60 * 1_000_000
# Fewer are read in no time, whatever they span; a footer with thousands of row groups is not.
FEWEST_ROWS: Final = 1024


def row_groups(times_us: NDArray[np.int64]) -> list[range]:
    """Cut rows in the order of their times into row groups.

    None has more than MOST_ROWS, and one of more than FEWEST_ROWS spans at most MOST_SPAN_US.
    """
    found: list[range] = []
    start, rows = 0, len(times_us)
    while start < rows:
        in_time = int(np.searchsorted(times_us, times_us[start] + MOST_SPAN_US, side="right"))
        end = min(max(in_time, start + FEWEST_ROWS), start + MOST_ROWS, rows)
        found.append(range(start, end))
        start = end
    return found
