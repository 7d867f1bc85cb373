from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics import paired_ratios, spread

if TYPE_CHECKING:
    from random import Random

seconds = st.floats(0.001, 10_000, allow_nan=False)
per_round = st.dictionaries(st.integers(0, 20), seconds, min_size=1)


@given(st.lists(seconds, min_size=1))
def test_a_spread_is_in_order_and_within_its_ends(values: list[float]) -> None:
    found = spread(values)
    assert found is not None
    middle = [found.lower_quartile, found.median, found.upper_quartile]
    # Interpolation between equal values may miss them by the last bit.
    assert all(
        found.minimum * (1 - 1e-9) <= value <= found.maximum * (1 + 1e-9) for value in middle
    )
    assert middle == pytest.approx(sorted(middle))
    assert (found.minimum, found.maximum, found.count) == (min(values), max(values), len(values))


@given(st.lists(seconds, min_size=1), st.randoms(use_true_random=False))
def test_a_spread_does_not_know_in_which_order_values_came(
    values: list[float], chance: Random
) -> None:
    shuffled = list(values)
    chance.shuffle(shuffled)
    assert spread(shuffled) == spread(values)


def test_nothing_has_no_spread() -> None:
    assert spread([]) is None


@given(per_round, per_round, st.floats(0.01, 100))
def test_ratios_do_not_depend_on_the_unit(
    values: dict[int, float], baseline: dict[int, float], scale: float
) -> None:
    one = spread(paired_ratios(values, baseline))
    other = spread(
        paired_ratios(
            {number: value * scale for number, value in values.items()},
            {number: value * scale for number, value in baseline.items()},
        )
    )
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert other.median == pytest.approx(one.median)


@given(per_round, st.floats(0.01, 100))
def test_a_competitor_twice_as_slow_in_every_round_has_the_ratio_two(
    baseline: dict[int, float], factor: float
) -> None:
    values = {number: value * factor for number, value in baseline.items()}
    assert paired_ratios(values, baseline) == pytest.approx([factor] * len(baseline))


def test_only_rounds_that_both_ran_are_compared() -> None:
    assert paired_ratios({0: 2.0, 2: 9.0}, {1: 1.0, 2: 3.0}) == [3.0]


def test_a_slow_round_of_both_moves_no_ratio() -> None:
    found = spread(paired_ratios({0: 2.0, 1: 20.0, 2: 2.2}, {0: 1.0, 1: 10.0, 2: 1.1}))
    assert found is not None
    assert (found.minimum, found.maximum) == pytest.approx((2.0, 2.0))
