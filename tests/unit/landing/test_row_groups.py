"""Row groups: everything once, and never more rows or more time than a replay wants to read."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.iceberg.table_files import FEWEST_ROWS, MOST_ROWS, MOST_SPAN_US, row_groups

steps = st.lists(
    st.tuples(st.integers(1, 3 * FEWEST_ROWS), st.sampled_from([0, 1_000, MOST_SPAN_US // 50])),
    max_size=6,
)


@given(steps)
def test_every_row_is_in_one_group_and_every_group_is_bounded(steps: list[tuple[int, int]]) -> None:
    gaps = [gap for rows, gap in steps for _ in range(rows)]
    times = np.cumsum(np.array(gaps, np.int64))
    groups = row_groups(times)
    assert [row for group in groups for row in group] == list(range(len(times)))
    for group in groups:
        assert len(group) <= MOST_ROWS
        if len(group) > FEWEST_ROWS:
            assert times[group[-1]] - times[group[0]] <= MOST_SPAN_US


def test_a_group_is_as_large_as_it_may_be() -> None:
    times = np.zeros(MOST_ROWS + 1, np.int64)
    assert row_groups(times) == [range(MOST_ROWS), range(MOST_ROWS, MOST_ROWS + 1)]
    times = np.arange(3 * FEWEST_ROWS, dtype=np.int64) * (MOST_SPAN_US // FEWEST_ROWS // 2)
    assert [len(group) for group in row_groups(times)] == [2 * FEWEST_ROWS + 1, FEWEST_ROWS - 1]
