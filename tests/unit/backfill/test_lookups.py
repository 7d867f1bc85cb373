"""Where a lookup's changes end steps, and which state a step has."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from backfill.plan.lookups import PlannedLookup, snapshot_runs, step_ends

TIMES = st.lists(st.integers(0, 400), max_size=20)


@given(TIMES, st.integers(1, 60), st.integers(0, 500))
def test_a_record_is_joined_with_a_state_that_was_replaced_at_most_so_long_before(
    changes: list[int], finest: int, arrived: int
) -> None:
    """A step begins at its first record, which may be as old as the last cut, and no older."""
    found = step_ends(changes, 0, finest)
    before = bisect_right(found, arrived)
    frontier = found[before - 1] if before else min([0, *changes]) - 1
    missed = [at for at in changes if frontier < at <= arrived]
    assert all(arrived - at < finest for at in missed)
    assert all(later - one >= finest for one, later in pairwise(found))


@given(st.lists(st.integers(0, 3).map(lambda n: n or None), min_size=1, max_size=12))
def test_a_step_has_the_state_that_was_planned_for_it(snapshots: list[int | None]) -> None:
    lookup = PlannedLookup("titles", "lake.tv.titles", "replayed", "{}", snapshot_runs(snapshots))
    assert [lookup.at_step(step) for step in range(len(snapshots))] == snapshots
    assert set(lookup.snapshots) == {one for one in snapshots if one is not None}


@given(TIMES)
def test_few_changes_each_end_a_step(changes: list[int]) -> None:
    assert step_ends(changes) == sorted(changes)
