"""A job whose questions are asked in the background."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from headrace.embedded.process import wait_until
from headrace.errors import HeadraceError, Terminal, Transient, UsageError
from headrace.line.background import LOOK_AGAIN, LOOK_TOGETHER, Askers, BackgroundJob
from headrace.line.job import Batch, Outlook
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Slow:
    """A job whose cluster answers when `answers` is set."""

    name: str = "slow"
    interval: timedelta | None = None
    is_done: bool = False
    fails: list[HeadraceError] = field(default_factory=list)
    begun: int = 0
    answers: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        self.begun += 1

    def next_batch(self) -> Batch | None:
        assert self.answers.wait(LIMIT_S)
        if self.fails:
            raise self.fails.pop()
        return Batch([], {0: self.begun}, 0)

    def finish(self, answers: Sequence[object]) -> None:
        if answers:
            raise Transient("the answers are bad")


def answer(job: BackgroundJob) -> Batch | None:
    found: list[Batch | None] = []

    def is_there() -> bool:
        batch = job.next_batch()
        if batch is not None:
            found.append(batch)
        return batch is not None

    assert wait_until(is_there, LIMIT_S)
    return found[0]


def test_nobody_waits_for_an_answer() -> None:
    slow = Slow()
    job = BackgroundJob("slow", slow, Askers("asks", 1))
    job.begin()
    assert job.next_batch() is None
    assert job.next_batch() is None
    assert job.interval == LOOK_AGAIN
    slow.answers.set()
    assert answer(job) == Batch([], {0: 1}, 0)
    assert job.interval is None


def test_an_answer_from_before_a_failure_counts_no_more() -> None:
    slow = Slow()
    job = BackgroundJob("slow", slow, Askers("asks", 1))
    job.begin()
    assert job.next_batch() is None
    job.begin()
    slow.answers.set()
    assert answer(job) == Batch([], {0: 2}, 0)


def test_a_failure_is_raised_and_told_until_it_gets_on() -> None:
    slow = Slow(fails=[Transient("it is away")])
    slow.answers.set()
    job = BackgroundJob("slow", slow, Askers("asks", 1))
    job.begin()
    with pytest.raises(Transient, match="it is away"):
        answer(job)
    assert str(job.problem) == "it is away"
    job.begin()
    assert answer(job) is not None
    with pytest.raises(Transient, match="the answers are bad"):
        job.finish(["bad"])
    assert str(job.problem) == "the answers are bad"
    job.begin()
    assert answer(job) is not None
    job.finish([])
    assert job.problem is None


def test_it_is_prepared_until_that_succeeds_and_never_again() -> None:
    tries = [Transient("its catalog is away")]
    prepared = []

    def prepare() -> None:
        if tries:
            raise tries.pop()
        prepared.append(slow.begun)

    slow = Slow()
    slow.answers.set()
    job = BackgroundJob("slow", slow, Askers("asks", 1), prepare)
    job.begin()
    with pytest.raises(Transient, match="its catalog is away"):
        answer(job)
    for _ in range(2):
        job.begin()
        assert answer(job) is not None
    assert (prepared, slow.begun) == ([0], 2)


def test_a_few_threads_ask_what_many_want_to_know() -> None:
    askers = Askers("asks a few", 2)
    questions = [askers.submit(lambda: threading.current_thread().ident) for _ in range(20)]
    assert len({one.result(LIMIT_S) for one in questions}) <= 2


def test_only_what_is_final_ends_it() -> None:
    slow = Slow(fails=[UsageError("it cannot be"), Terminal("its table is gone")])
    slow.answers.set()
    job = BackgroundJob("slow", slow, Askers("asks", 1), final=(UsageError,))
    job.begin()
    with pytest.raises(Transient, match="its table is gone"):
        answer(job)
    job.begin()
    with pytest.raises(UsageError, match="it cannot be"):
        answer(job)


@dataclass
class Watched(Slow):
    """A job of which others know whether it has anything to do."""

    outlooks: list[Outlook] = field(default_factory=list)
    since_s: list[float] = field(default_factory=list)
    soon_s: float = 0.4

    def outlook(self, since_s: float) -> Outlook:
        self.since_s.append(since_s)
        return self.outlooks.pop(0)


def test_a_job_of_which_it_is_known_that_it_has_nothing_to_do_is_not_asked() -> None:
    looked = [Outlook.SOON, Outlook.SOON, Outlook.NOTHING, Outlook.NOTHING, Outlook.ASK]
    watched = Watched(interval=timedelta(seconds=600), outlooks=looked)
    watched.answers.set()
    job = BackgroundJob("watched", watched, Askers("asks", 1))
    job.begin()
    # It begins, and is then looked at with the others before its interval is over.
    assert wait_until(lambda: job.next_batch() is None and watched.begun == 1, LIMIT_S)
    assert wait_until(lambda: job.next_batch() is None and len(watched.outlooks) == 2, LIMIT_S)
    assert job.is_at_work
    assert not job.is_asked
    assert job.interval == timedelta(seconds=600)
    # All looks of one turn are about the same moment.
    assert len(set(watched.since_s)) == 1
    assert job.next_batch() is None
    assert answer(job) == Batch([], {0: 1}, 0)
    assert watched.outlooks == []


def test_a_job_looks_again_when_the_answer_should_be_there_and_then_more_often() -> None:
    watched = Watched(interval=timedelta(seconds=600), outlooks=[Outlook.SOON] * 3)
    watched.answers.set()
    job = BackgroundJob("watched", watched, Askers("asks", 1))
    job.begin()
    assert wait_until(lambda: job.next_batch() is None and len(watched.outlooks) == 2, LIMIT_S)
    # Its first look is part of its beginning.
    assert job.interval == LOOK_TOGETHER
    watched.outlooks[:] = [Outlook.NOTHING, Outlook.SOON, Outlook.SOON]
    job.next_batch()
    assert not job.waits_with_others
    job.next_batch()
    assert (job.waits_with_others, job.interval) == (True, timedelta(seconds=0.4))
    job.next_batch()
    assert (job.waits_with_others, job.interval) == (True, LOOK_TOGETHER)
