"""Work grows no faster than what it is for: counted, not timed."""

from __future__ import annotations

import pytest

from benchmarks.poison import POISONS
from tests.fuzz.work import work_of

SIZE = 3000
TIMES = 4


@pytest.mark.parametrize("poison", POISONS, ids=lambda one: one.name)
def test_the_work_for_a_poison_grows_as_its_size(poison: object) -> None:
    from benchmarks.poisons.model import Poison

    assert isinstance(poison, Poison)
    small, large = poison.make(SIZE), poison.make(SIZE * TIMES)
    for value in (small, large):
        poison.run(value)
    least, most = work_of(lambda: poison.run(small)), work_of(lambda: poison.run(large))
    # Work that grows with the square would be 16 times as much.
    assert most <= (TIMES + 1) * least


def test_work_that_grows_with_the_square_is_seen() -> None:
    def squared(size: int) -> int:
        return sum(1 for _ in range(size) for _ in range(size))

    assert work_of(lambda: squared(80)) > 10 * work_of(lambda: squared(20))
