"""A job of a line that is asked in the background: if its cluster is away, no other job waits."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal, Transient
from headrace.line.job import Outlook, Watched
from headrace.queries.streaming import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.errors import HeadraceError
    from headrace.line.job import Batch, Job

# How often a question is looked at that has no answer yet.
LOOK_AGAIN: Final = timedelta(milliseconds=30)
# How late at most, where the question is one for all jobs and takes longer than it has taken before.
LOOK_TOGETHER: Final = timedelta(milliseconds=150)


class Askers:
    """Threads that ask; nobody waits for their end. They are started as they are needed."""

    def __init__(self, name: str, at_most: int) -> None:
        self._name = name
        self._at_most = at_most
        self._asked: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads = 0

    def submit(self, question: Callable[[], Any]) -> Future[Any]:
        """Let a thread ask; questions for which there is none wait in their order."""
        future: Future[Any] = Future()
        self._asked.put((question, future))
        if not self._idle.acquire(blocking=False) and self._threads < self._at_most:
            self._threads += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            question, future = self._asked.get()
            try:
                future.set_result(question())
            except BaseException as problem:  # noqa: BLE001 - it is whoever asks that fails
                future.set_exception(problem)
            del question, future
            self._idle.release()


class BackgroundJob:
    """A job under a name of its line, its questions asked by `askers`.

    `prepare` is called before it begins for the first time, until it succeeds once. `problem` is
    why the job does not get on, None while it does. Only a problem that is `final` ends it: others
    are mended by somebody while the line goes on.
    """

    def __init__(
        self,
        name: str,
        job: Job,
        askers: Askers,
        prepare: Callable[[], object] | None = None,
        final: tuple[type[HeadraceError], ...] = (Terminal,),
    ) -> None:
        self.name = name
        self.job = job
        self.problem: HeadraceError | None = None
        # Whether it has begun at all, once.
        self.has_begun = False
        self._askers = askers
        self._prepare = prepare
        self._final = final
        self._begins = True
        self._has_begun = False
        self._has_just_begun = False
        self._asked: Future[Batch | None] | None = None
        self._watched = job if isinstance(job, Watched) else None
        # Since when it waits for what is asked for all, and whether it has only just begun to.
        self._since_s: float | None = None
        self._is_first_look = False

    @property
    def interval(self) -> timedelta | None:
        """The time between two batches, or until the answer is looked for."""
        if self._since_s is not None and self.job.interval:
            # Thousands that look before there is an answer would do little else.
            if self._is_first_look and self._watched is not None:
                return min(
                    self.job.interval, max(LOOK_AGAIN, timedelta(seconds=self._watched.soon_s))
                )
            return max(LOOK_AGAIN, min(self.job.interval / 10, LOOK_TOGETHER))
        return LOOK_AGAIN if self.is_asked else self.job.interval

    @property
    def is_asked(self) -> bool:
        """Whether it will be known in a moment what there is to do."""
        return self._asked is not None or self._since_s is not None

    @property
    def waits_with_others(self) -> bool:
        """Whether it waits for what is asked for all: there is an answer for many at once."""
        return self._since_s is not None

    @property
    def is_done(self) -> bool:
        """Whether a job that ends by itself has nothing left to do."""
        return self._asked is None and not self._begins and self.job.is_done

    @property
    def is_at_work(self) -> bool:
        """Whether it knows where it is, and nothing stands against it."""
        return self._has_begun and self.problem is None

    def begin(self) -> None:
        """Let the next question be where it goes on."""
        self._begins, self._has_begun, self._since_s = True, False, None

    def next_batch(self) -> Batch | None:
        """Return what there is to do, once that is known."""
        asked = self._asked
        if asked is None:
            outlook = self._outlook()
            if outlook is not Outlook.ASK:
                if outlook is Outlook.NOTHING:
                    self.problem = None
                return None
            begins, self._begins = self._begins, False
            self._has_just_begun = begins
            self._asked = self._askers.submit(lambda: self._ask(begins=begins))
            return None
        if not asked.done():
            return None
        self._asked = None
        if self._begins:
            # It was asked before the job failed: what it found may not be true any more.
            return None
        has_just_begun, self._has_just_begun = self._has_just_begun, False
        try:
            batch = asked.result()
        except Exception as problem:  # noqa: BLE001 - from any job
            raise self._told(problem) from None
        self.has_begun = True
        if batch is None:
            self.problem = None
            if has_just_begun and self._watched is not None:
                # It has not been asked yet whether there is anything to do.
                self._since_s = time.monotonic()
        return batch

    def _outlook(self) -> Outlook:
        if self._begins or self._watched is None:
            return Outlook.ASK
        since_s = time.monotonic() if self._since_s is None else self._since_s
        found = self._watched.outlook(since_s)
        self._is_first_look = self._since_s is None
        self._since_s = since_s if found is Outlook.SOON else None
        return found

    def finish(self, answers: Sequence[Any]) -> None:
        """Make the batch true."""
        try:
            self.job.finish(answers)
        except Exception as problem:  # noqa: BLE001 - as above
            raise self._told(problem) from None
        self.problem = None

    def _told(self, problem: Exception) -> HeadraceError:
        """Keep a problem; return it as the line is to take it."""
        self.problem = said = explained(self.name, problem)
        if isinstance(said, Terminal) and not isinstance(said, self._final):
            return Transient(said.message, said.advice)
        return said

    def _ask(self, *, begins: bool) -> Batch | None:
        if begins:
            if self._prepare is not None:
                self._prepare()
                self._prepare = None
            self.job.begin()
            self._has_begun = True
            if self._watched is not None:
                # Whether there is anything to do, is asked together with others.
                return None
        return self.job.next_batch()
