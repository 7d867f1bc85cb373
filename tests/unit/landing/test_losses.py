"""What was lost is kept for ever, in as few words as possible."""

from __future__ import annotations

from headrace.landing.completeness import losses_of, with_losses


def test_what_was_lost_is_added_to_what_was_lost_before() -> None:
    first = with_losses(None, {1: range(3, 5)})
    assert first == '{"1":[[3,5]]}'
    second = with_losses(first, {0: range(2), 1: range(5, 9)})
    assert second == '{"0":[[0,2]],"1":[[3,9]]}'
    third = with_losses(second, {1: range(20, 21)})
    assert losses_of(third) == {0: [range(2)], 1: [range(3, 9), range(20, 21)]}


def test_a_table_that_lost_nothing_says_nothing() -> None:
    assert losses_of(None) == {}
