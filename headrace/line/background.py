"""A job of a line that is asked in the background: if its cluster is away, no other job waits."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal, Transient
from headrace.queries.streaming import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.errors import HeadraceError
    from headrace.line.job import Batch, Job

# How often a question is looked at that has no answer yet.
LOOK_AGAIN: Final = timedelta(milliseconds=10)


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
        self._askers = askers
        self._prepare = prepare
        self._final = final
        self._begins = True
        self._asked: Future[Batch | None] | None = None

    @property
    def interval(self) -> timedelta | None:
        """The time between two batches, or until the answer is looked for."""
        return self.job.interval if self._asked is None else LOOK_AGAIN

    @property
    def is_done(self) -> bool:
        """Whether a job that ends by itself has nothing left to do."""
        return self._asked is None and not self._begins and self.job.is_done

    def begin(self) -> None:
        """Let the next question be where it goes on."""
        self._begins = True

    def next_batch(self) -> Batch | None:
        """Return what there is to do, once that is known."""
        asked = self._asked
        if asked is None:
            begins, self._begins = self._begins, False
            self._asked = self._askers.submit(lambda: self._ask(begins=begins))
            return None
        if not asked.done():
            return None
        self._asked = None
        if self._begins:
            # It was asked before the job failed: what it found may not be true any more.
            return None
        try:
            batch = asked.result()
        except Exception as problem:  # noqa: BLE001 - from any job
            raise self._told(problem) from None
        if batch is None:
            self.problem = None
        return batch

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
        return self.job.next_batch()
