"""Watching a topic fill."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import IsolationLevel

from benchmarks.output import OutputWatch
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from pathlib import Path


class FakeTopic:
    """A topic that holds more at each look; what is committed comes later."""

    def __init__(self, written: list[int], committed: list[int]) -> None:
        self._left = {
            IsolationLevel.READ_UNCOMMITTED: written,
            IsolationLevel.READ_COMMITTED: committed,
        }

    def count(self, isolation: IsolationLevel) -> int:
        left = self._left[isolation]
        return left.pop(0) if len(left) > 1 else left[0]


def lines_of(file: Path, wanted: int) -> list[str]:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        if len(lines) >= wanted:
            return lines
        time.sleep(0.01)
    raise AssertionError(f"{file} has fewer than {wanted} lines")


def test_the_beginning_and_the_end_are_a_line_each(tmp_path: Path) -> None:
    topic = FakeTopic([0, 0, 7], [0, 90, 100])
    with OutputWatch(topic.count, 100, tmp_path / "progress") as watch:
        assert lines_of(tmp_path / "progress", 2) == ["first output", "all output"]
    assert watch.first_count == 7


def test_what_is_not_committed_is_no_end(tmp_path: Path) -> None:
    topic = FakeTopic([100], [99])
    with OutputWatch(topic.count, 100, tmp_path / "progress"):
        lines_of(tmp_path / "progress", 1)
        # Longer than until the next look.
        time.sleep(0.3)
    assert lines_of(tmp_path / "progress", 1) == ["first output"]


def test_a_topic_that_stays_empty_has_no_line(tmp_path: Path) -> None:
    with OutputWatch(FakeTopic([0], [0]).count, 100, tmp_path / "progress"):
        pass
    assert not (tmp_path / "progress").exists()
