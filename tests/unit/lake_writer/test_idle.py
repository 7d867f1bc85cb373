from __future__ import annotations

import threading

from headrace.embedded.process import wait_until
from headrace.errors import Transient
from lake_writer.idle import every
from tests.limits import LIMIT_S


def test_it_asks_again_after_it_was_told_no() -> None:
    asked: list[int] = []

    def ask() -> None:
        asked.append(len(asked))
        if len(asked) < 3:
            raise Transient("nobody answers")

    with every(0.001, ask):
        assert wait_until(lambda: len(asked) > 3, LIMIT_S)
    assert "between batches" not in {thread.name for thread in threading.enumerate()}


def test_a_block_that_is_short_is_not_held_up() -> None:
    asked: list[int] = []
    with every(3600, lambda: asked.append(1)):
        pass
    assert asked == []
