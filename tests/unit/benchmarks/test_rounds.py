from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rounds import order_of

names = st.lists(st.text(min_size=1), min_size=1, max_size=6, unique=True)


def positions(competitors: list[str], rounds: int) -> Counter[tuple[str, int]]:
    """How often each competitor ran in each position."""
    return Counter(
        (name, position)
        for number in range(rounds)
        for position, name in enumerate(order_of(competitors, number))
    )


@given(names, st.integers(0, 50))
def test_each_competitor_runs_once_a_round(competitors: list[str], number: int) -> None:
    assert Counter(order_of(competitors, number)) == Counter(competitors)


@given(names, st.integers(1, 4))
def test_whole_turns_give_each_competitor_each_position_equally(
    competitors: list[str], turns: int
) -> None:
    held = positions(competitors, turns * len(competitors))
    assert set(held.values()) == {turns}
    assert len(held) == len(competitors) ** 2


@given(names, st.integers(1, 20))
def test_positions_never_differ_by_more_than_one_round(competitors: list[str], rounds: int) -> None:
    held = positions(competitors, rounds)
    counts = [held[name, place] for name in competitors for place in range(len(competitors))]
    assert max(counts) - min(counts) <= 1


def test_the_order_is_turned_by_one() -> None:
    assert [order_of("ABC", number) for number in range(4)] == [
        ["A", "B", "C"],
        ["B", "C", "A"],
        ["C", "A", "B"],
        ["A", "B", "C"],
    ]


def test_nobody_has_no_turn() -> None:
    assert order_of([], 3) == []
