"""Runs of offsets against plain sets, which are simpler and as large as the table."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.kafka.offset_set import OffsetSet
from lake_writer.audit import OffsetTally, runs_of

numbers = st.integers(0, 40)
spans = st.builds(lambda start, length: range(start, start + length), numbers, st.integers(0, 8))


@given(st.lists(spans), spans)
def test_runs_are_the_set_of_what_was_added(added: list[range], within: range) -> None:
    runs, plain = OffsetSet(), set[int]()
    for span in added:
        again = runs.add(span)
        assert {one for part in again for one in part} == plain & set(span)
        plain |= set(span)
    assert {one for run in runs for one in run} == plain
    assert len(runs) == len(plain)
    assert {one for one in range(60) if one in runs} == plain
    held = list(runs)
    assert all(one.stop < other.start for one, other in pairwise(held))
    assert {one for gap in runs.gaps(within) for one in gap} == set(within) - plain
    assert {one for part in runs.overlapping(within) for one in part} == set(within) & plain


@given(st.lists(st.lists(numbers)))
def test_a_tally_knows_what_came_more_than_once(batches: list[list[int]]) -> None:
    tally, plain = OffsetTally(), Counter[int]()
    for batch in batches:
        tally.count(np.array(batch, dtype=np.int64))
        plain.update(batch)
    assert tally.rows == plain.total()
    assert {one for run in tally.held for one in run} == set(plain)
    assert {one for run in tally.doubled for one in run} == {n for n, c in plain.items() if c > 1}


def test_a_contiguous_log_is_one_run_in_whatever_order_its_files_come() -> None:
    tally = OffsetTally()
    for start in (2_000_000, 0, 1_000_000):
        tally.count(np.arange(start, start + 1_000_000))
    assert list(tally.held) == [range(3_000_000)]
    assert not list(tally.doubled)
    assert list(runs_of(np.array([], dtype=np.int64))) == []
