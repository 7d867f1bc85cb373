"""Who runs when: every competitor once a round, and each in every position in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def order_of(competitors: Sequence[T], round_number: int) -> list[T]:
    """Return the order of one round, the first of which has number 0.

    Turned by one each round: who runs first finds the coldest machine, who runs last the
    hottest, and that shall hit all alike.
    """
    if not competitors:
        return []
    turn = round_number % len(competitors)
    return [*competitors[turn:], *competitors[:turn]]
