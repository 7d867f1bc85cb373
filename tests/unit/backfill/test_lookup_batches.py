"""Which snapshot a live batch takes: one for all its tasks, and the same when it is done again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from backfill.lookups.batches import KEPT_BATCHES, replayed_snapshot, taken_snapshot
from backfill.plan.lookups import PlannedLookup
from headrace.errors import Terminal

if TYPE_CHECKING:
    from pathlib import Path


class Batches:
    """The log of a query, and a table whose head moves on."""

    def __init__(self, folder: Path) -> None:
        self.taken, self.checkpoint = folder / "taken", folder / "checkpoint"
        self.head: int | None = 1
        self.gone: set[int] = set()

    def begin(self, batch: int, plan: str = "{}") -> None:
        offsets = self.checkpoint / "offsets"
        offsets.mkdir(parents=True, exist_ok=True)
        (offsets / str(batch)).write_text(f"v1\n{{}}\n{plan}", encoding="utf-8")

    def take(self, batch: int) -> int | None:
        return taken_snapshot(
            self.taken,
            self.checkpoint,
            batch,
            lambda: self.head,
            is_there=lambda one: one not in self.gone,
        )


@pytest.fixture
def batches(tmp_path: Path) -> Batches:
    return Batches(tmp_path)


def test_all_of_a_batch_has_one_state_and_the_next_batch_its_own(batches: Batches) -> None:
    batches.begin(0)
    assert batches.take(0) == 1
    batches.head = 2
    assert batches.take(0) == 1
    batches.begin(1)
    assert batches.take(1) == 2


def test_an_empty_table_is_a_state_like_any_other(batches: Batches) -> None:
    batches.begin(0)
    batches.head = None
    assert batches.take(0) is None
    batches.head = 2
    assert batches.take(0) is None


def test_another_batch_of_the_same_number_is_another_batch(batches: Batches) -> None:
    """So it is after a checkpoint was put back to an earlier one."""
    batches.begin(0, '{"t":{"0":5}}')
    batches.take(0)
    batches.head = 2
    batches.begin(0, '{"t":{"0":9}}')
    assert batches.take(0) == 2


def test_a_state_that_is_gone_is_replaced_by_the_current_one_for_all(batches: Batches) -> None:
    batches.begin(0)
    batches.take(0)
    batches.head, batches.gone = 2, {1}
    assert batches.take(0) == 2
    batches.head = 3
    assert batches.take(0) == 2
    batches.gone = {1, 2, 3}
    with pytest.raises(Terminal, match="expired before it was read"):
        batches.take(0)


def test_of_old_batches_nothing_is_kept(batches: Batches) -> None:
    for batch in range(2 * KEPT_BATCHES):
        batches.begin(batch)
        batches.take(batch)
    assert len(list(batches.taken.iterdir())) <= KEPT_BATCHES + 2


def test_a_batch_of_a_replay_has_the_state_of_its_step(batches: Batches) -> None:
    lookup = PlannedLookup("titles", "lake.tv.titles", "replayed", "{}", ((0, 7), (2, 8)))
    for batch, steps in enumerate([1, 2, 3, 3]):
        batches.begin(batch, f'{{"step": {steps}}}\n{{"step": {steps}}}')
    states = [replayed_snapshot(lookup, batches.checkpoint, batch) for batch in range(4)]
    # The last has no data: it closes windows of what came before.
    assert states == [7, 7, 8, 8]
