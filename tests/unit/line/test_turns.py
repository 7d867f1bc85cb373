"""When a job of a line has its turn, rests, and has ended."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Terminal, Transient
from headrace.line.job import Batch
from headrace.line.pace import LONGEST_S, SHORTEST_S, Pace
from headrace.line.shares import shared
from headrace.line.socket_folder import private_folder
from headrace.line.turns import MOST_TRIES_ONCE, Turns

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Steps:
    """A job that does what a test asks for, and keeps what was asked of it."""

    batches: list[Batch | Exception | None] = field(default_factory=list)
    interval: timedelta | None = timedelta(0)
    is_done: bool = False
    name: str = "steps"
    begun: int = 0
    finished: list[Sequence[object]] = field(default_factory=list)
    pace: Pace = field(default_factory=lambda: Pace(5.0))

    def begin(self) -> None:
        self.begun += 1

    def next_batch(self) -> Batch | None:
        batch = self.batches.pop(0) if self.batches else None
        if isinstance(batch, Exception):
            raise batch
        return batch

    def finish(self, answers: Sequence[object]) -> None:
        self.finished.append(answers)


ONE = Batch([], {0: 1}, 0)
AWAY = Transient("the catalog is away", "start it when it is back")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.line.turns.pause_s", lambda _failures, _first: 0.0)
    monkeypatch.setattr("headrace.line.turns.LOOK_EVERY_S", 0.0)


def test_a_job_begins_once_and_goes_on_until_it_fails() -> None:
    job = Steps([ONE, ONE, AWAY, ONE])
    turns = Turns(job, once=False)
    assert turns.take() == ONE
    turns.finish(["done"])
    assert turns.take() == ONE
    assert (job.begun, job.finished, turns.reason) == (1, [["done"]], None)
    assert turns.take() is None
    assert (turns.reason, turns.ended) == (AWAY, False)
    # It finds out again where it is.
    assert turns.take() == ONE
    assert (job.begun, turns.reason) == (2, None)


def test_what_a_retry_cannot_help_ends_it() -> None:
    turns = Turns(Steps([Terminal("the table is gone")]), once=False)
    assert turns.take() is None
    assert turns.ended
    assert turns.take() is None


def test_a_job_that_ends_by_itself_is_not_tried_for_ever() -> None:
    turns = Turns(Steps([AWAY] * 99), once=True)
    tries = 0
    while not turns.ended:
        turns.take()
        tries += 1
    assert (tries, turns.reason) == (MOST_TRIES_ONCE, AWAY)


def test_what_was_done_in_between_counts() -> None:
    turns = Turns(Steps([AWAY, ONE] * 9), once=True)
    for _ in range(9):
        assert turns.take() is None
        assert turns.take() == ONE
        turns.finish([])
    assert not turns.ended


def test_a_batch_that_fails_is_not_finished() -> None:
    job = Steps([ONE, ONE])
    turns = Turns(job, once=False)
    turns.take()
    turns.fail(RuntimeError("a worker was killed"))
    assert isinstance(turns.reason, Transient)
    assert "a worker was killed" in str(turns.reason)
    assert (turns.take(), job.begun) == (ONE, 2)


def test_it_ends_when_it_is_done_and_has_nothing_more() -> None:
    job = Steps([None, ONE, None])
    turns = Turns(job, once=True)
    turns.take()
    assert not turns.ended
    turns.take()
    turns.finish([])
    job.is_done = True
    turns.take()
    assert (turns.ended, turns.reason) == (True, None)


def test_an_interval_is_kept_but_for_what_a_batch_leaves_over() -> None:
    job = Steps([Batch([], {0: 5}, 7), ONE, ONE], interval=timedelta(hours=1))
    turns = Turns(job, once=False)
    assert turns.take() is not None
    assert turns.due_in_s == 0
    assert turns.take() == ONE
    assert turns.due_in_s > 0
    assert turns.take() is None


def test_a_job_that_ends_by_itself_waits_for_no_interval() -> None:
    turns = Turns(Steps([ONE], interval=timedelta(hours=1)), once=True)
    assert turns.take() == ONE
    assert turns.due_in_s < 1


def test_what_a_crash_left_in_the_folder_of_temporary_files_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        ended = subprocess.Popen(["true"])
        ended.wait()
        of_a_crash = Path(folder) / f"headrace-line-{ended.pid}-abc"
        of_another = Path(folder) / f"headrace-line-{os.getppid()}-abc"
        for one in (of_a_crash, of_another):
            (one / "checkpoint").mkdir(parents=True)
        own = private_folder()
        assert sorted(Path(folder).iterdir()) == sorted([of_another, own])
        assert own.stat().st_mode & 0o777 == 0o700


def test_a_socket_fits_wherever_temporary_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("a" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    folder = private_folder()
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(folder / "line"))
    finally:
        shutil.rmtree(folder)


def test_jobs_with_the_same_interval_are_due_together() -> None:
    turns = [Turns(Steps(interval=timedelta(seconds=600)), once=False) for _ in range(3)]
    for one in turns:
        one.take()
    (due_at_s,) = {one.due_at_s for one in turns}
    assert 0 < turns[0].due_in_s <= 600
    assert due_at_s == turns[1].due_at_s


BEHIND = Batch([], {0: 1}, 1_000)


def test_who_is_behind_goes_on_at_once_if_alone_and_else_when_the_others_do() -> None:
    alone, beside = (Turns(Steps([BEHIND]), once=False) for _ in range(2))
    assert alone.take() == BEHIND
    assert alone.due_in_s == 0
    other = Turns(Steps(interval=timedelta(seconds=600)), once=False)
    other.take()
    others_s = shared([other, other], None)
    assert others_s == 600
    assert beside.take(others_s) == BEHIND
    assert beside.due_at_s == other.due_at_s


def test_no_batch_takes_longer_than_others_wait() -> None:
    quick, slow = Steps(interval=timedelta(seconds=2)), Steps(interval=timedelta(seconds=60))
    turns = [Turns(one, once=False) for one in (slow, quick)]
    assert shared(turns, None) == 2
    assert (slow.pace.most_s, quick.pace.most_s) == (2, 2)
    assert shared(turns[:1], 2) is None
    assert slow.pace.most_s == LONGEST_S


def test_without_an_interval_others_wait_for_the_shortest_batch() -> None:
    assert shared([Turns(Steps(), once=False) for _ in range(2)], None) == SHORTEST_S
