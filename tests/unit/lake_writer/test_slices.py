"""Slices of a batch: each offset once, evenly, and few of them where there is little to do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lake_writer.slices import TASK_BYTES, part_of, slices, tasks_for

ranges = st.dictionaries(
    st.integers(0, 20),
    st.tuples(st.integers(0, 10**6), st.integers(0, 300)).map(lambda one: range(one[0], sum(one))),
    max_size=6,
)


@given(ranges, st.integers(1, 8))
def test_each_offset_is_in_one_slice(ranges: dict[int, range], number: int) -> None:
    cut = slices(ranges, number)
    assert len(cut) <= number
    for partition, whole in ranges.items():
        parts = [part[partition] for part in cut if partition in part]
        assert [offset for part in parts for offset in part] == list(whole)
        assert all(part and len(part) <= len(whole) // number + 1 for part in parts)
    assert all(cut)


def test_a_small_batch_is_one_task() -> None:
    assert tasks_for(0, 200, 8) == 1
    assert tasks_for(100_000, 200, 8) == 1
    assert tasks_for(1_000_000, 200, 8) == 6
    assert tasks_for(1_000_000, 200, 2) == 2
    assert tasks_for(100, TASK_BYTES, 8) == 8


@settings(deadline=None)
@given(st.integers(1, 10**7), st.floats(1, 10**6), st.integers(1, 10**12))
def test_commits_are_within_their_bytes_and_no_more_than_needed(
    records: int, record_bytes: float, most: int
) -> None:
    rows = len(part_of({0: range(records)}, record_bytes, most)[0])
    assert rows in {1, records} or rows * record_bytes <= most * 1.0001
    needed = records * record_bytes / most + 1
    assert (rows + 1) * needed > records
