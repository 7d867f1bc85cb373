"""The simulation of readers, against what no schedule can beat and what one could try out."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.plan.steps import Limits, Step, bounded
from backfill.plan.units import OffsetRange, Unit
from benchmarks.scale.a_day import DayTable
from benchmarks.scale.picture import as_svg
from benchmarks.scale.simulate import MIB, Cost, replay_s, slowest_s, speed_ups

costs = st.lists(st.integers(1, 50).map(float), max_size=12)
readers = st.integers(1, 15)
ROUNDING = 1e-9
units = st.lists(
    st.builds(
        lambda number, start, width, mib: Unit(
            "a", f"f{number}", start, start + width, 10, mib * MIB
        ),
        st.integers(0, 10**6),
        st.integers(0, 1_000),
        st.integers(0, 50),
        st.integers(1, 64),
    ),
    min_size=1,
    max_size=30,
)
cost_of = st.builds(Cost, *[st.integers(1, 20).map(float)] * 3)


@given(costs, readers)
def test_the_slowest_reader_lies_between_what_must_be_and_what_greed_is_known_for(
    found: list[float], count: int
) -> None:
    slowest = slowest_s(found, count)
    must = max(sum(found) / count, max(found, default=0.0))
    assert must <= slowest + ROUNDING
    assert slowest <= sum(found) / count + max(found, default=0.0) + ROUNDING


@given(st.lists(st.integers(1, 9).map(float), max_size=6), st.integers(1, 3))
@settings(deadline=None)
def test_it_is_at_most_a_third_above_the_best_of_all_schedules(
    found: list[float], count: int
) -> None:
    best = min(
        max(
            sum(c for c, who in zip(found, given_to, strict=True) if who == reader)
            for reader in range(count)
        )
        for given_to in itertools.product(range(count), repeat=len(found))
    )
    assert best <= slowest_s(found, count) <= best * (4 / 3) + ROUNDING


@given(costs, readers)
def test_a_reader_more_never_makes_it_slower(found: list[float], count: int) -> None:
    assert slowest_s(found, count + 1) <= slowest_s(found, count) + ROUNDING


@given(units, cost_of, st.integers(50, 500), st.integers(1, 40))
@settings(deadline=None)
def test_nobody_is_faster_than_there_are_readers(
    found: list[Unit], cost: Cost, threshold: int, rows: int
) -> None:
    steps = list(bounded(found, threshold, Limits(rows, 2**60)))
    counts = list(range(1, 20))
    gained = speed_ups(steps, cost, counts)
    assert gained[0] == 1.0
    assert all(gain <= count + ROUNDING for count, gain in zip(counts, gained, strict=True))
    assert all(more >= less - ROUNDING for less, more in itertools.pairwise(gained))


def test_by_offsets_each_reader_looks_through_all_and_nothing_is_gained() -> None:
    held = tuple(Unit("a", f"f{n}", 0, 9, 10, MIB) for n in range(4))
    ranges = tuple(OffsetRange("a", "t", n, 0, 10) for n in range(4))
    steps = [Step(0, 0, held, ranges)]
    assert speed_ups(steps, Cost(0.0, 1.0, 0.0), [1, 2, 4]) == [1.0, 1.0, 1.0]


def test_a_step_is_waited_for_and_costs_what_it_costs() -> None:
    held = [Unit("a", f"f{n}", 100 * n, 100 * n + 9, 10, MIB) for n in range(4)]
    apart = list(bounded(held, 9, Limits(100, 2**60)))
    together = list(bounded(held, 1_000, Limits(100, 2**60)))
    cost = Cost(unit_s=1.0, mib_s=2.0, step_s=0.5)
    assert (len(apart), len(together)) == (4, 1)
    assert replay_s(apart, cost, 4) == 4 * 3.5
    assert replay_s(together, cost, 4) == 3.5
    assert replay_s(together, cost, 1) == 12.5


def test_a_day_has_its_files_one_after_the_other_and_each_partition_in_each() -> None:
    table = DayTable("t", 2, 3, 40, 100, 4)
    files = list(table.files())
    assert len(files) == 6
    assert all(before.max_ts_us < after.min_ts_us for before, after in itertools.pairwise(files))
    found = list(table.stretches(1_000_000))
    assert sum(one.rows for one in found) == 6 * 40
    of_one = [(one.first_offset, one.last_offset) for one in found if one.partition == 2]
    assert of_one == [(n * 10, n * 10 + 9) for n in range(6)]


def test_a_picture_has_a_line_for_each_order() -> None:
    drawn = as_svg("speed <up>", [1, 10, 1_000], {"any": [1, 9, 900], "strict": [1, 1, 1]})
    assert drawn.count("<polyline ") == 3
    assert "any: 900x" in drawn
    assert "speed &lt;up&gt;" in drawn
