"""A stream or a lake table in the line that all share: opened, at work, resting, left."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import structlog

from fleet.run_state import JobProblem
from headrace.errors import HeadraceError, UsageError
from headrace.landing.commits import LostRace
from headrace.line.background import Askers, BackgroundJob
from headrace.line.line import Line
from headrace.line.standing import JobStanding
from headrace.queries.streaming import explained
from headrace.retries import pause_s
from router.ledger.claims import TakenOver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from pyspark.sql import SparkSession

    from fleet.follow import Key
    from headrace.line.job import Job
    from headrace.line.line import RunWorks
    from headrace.line.turns import Turns

FIRST_PAUSE_S: Final = 1.0
# Whoever lost to another process, or was started wrongly, would lose again.
FINAL: Final = (TakenOver, LostRace, UsageError)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """A job that is ready for a line: for one of its own where Spark evaluates its work.

    `askers` ask it. `parts` are the outputs that it is of; none where it is all of its file.
    """

    name: str
    job: Job
    checkpoint: Path
    askers: Askers
    parts: Sequence[str] = ()
    run: RunWorks | None = None
    prepare: Callable[[], object] | None = None


@dataclass(slots=True)
class _Resting:
    """Something that ended, and is tried again."""

    failures: int = 0
    due_at_s: float = float("-inf")

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self.due_at_s

    def fail(self) -> float:
        self.failures += 1
        wait_s = pause_s(self.failures, FIRST_PAUSE_S)
        self.due_at_s = time.monotonic() + wait_s
        return wait_s


@dataclass(slots=True)
class _Running:
    """A job in its line; `turns` is None while it rests outside of it."""

    opened: Opened
    job: BackgroundJob
    line: Line
    turns: Turns | None
    rest: _Resting = field(default_factory=_Resting)
    problem: HeadraceError | None = None


class LineUnit:
    """One file's jobs. `look` moves it on and never waits: what takes time is asked elsewhere."""

    def __init__(
        self,
        key: Key,
        shared: Line,
        askers: Askers,
        closers: Askers,
        open_jobs: Callable[[ExitStack], Sequence[Opened]],
    ) -> None:
        self.key = key
        self._shared = shared
        self._askers = askers
        self._closers = closers
        self._open = open_jobs
        self._held = ExitStack()
        self._lock = threading.Lock()
        self._opening: Future[Sequence[Opened]] | None = None
        self._rest = _Resting()
        self._problem: HeadraceError | None = None
        self._running: list[_Running] = []
        self._is_open = False
        self._leaves = False
        self._closing: Future[None] | None = None

    @property
    def problems(self) -> list[JobProblem]:
        """What keeps it, or some of its jobs, from getting on."""
        kind, name = self.key
        if self._problem is not None:
            return [JobProblem(kind, name, None, self._problem.message)]
        found = []
        for one in self._running:
            problem = one.problem or one.job.problem
            if problem is not None:
                parts: Sequence[str | None] = one.opened.parts or (None,)
                found += [JobProblem(kind, name, part, problem.message) for part in parts]
        return found

    @property
    def is_at_work(self) -> bool:
        """Whether all of its jobs know where they are, and get on."""
        return (
            self._is_open and not self._leaves and all(one.job.is_at_work for one in self._running)
        )

    @property
    def is_open(self) -> bool:
        """Whether its jobs are known."""
        return self._is_open

    def standings(self) -> list[JobStanding[Any]]:
        """Return how its jobs fare; any thread may ask."""
        return [
            JobStanding(one.opened.job, one.problem or one.job.problem, one.job.has_begun)
            for one in self._running
        ]

    @property
    def has_left(self) -> bool:
        """Whether nothing of it runs any more, and nothing is held."""
        return self._closing is not None and self._closing.done()

    def leave(self) -> None:
        """Finish what is at hand, and go."""
        with self._lock:
            self._leaves = True

    def look(self, spark: SparkSession) -> None:
        """Move it on."""
        if self._leaves:
            self._go()
        elif self._is_open:
            for one in self._running:
                self._look_at(one, spark)
        else:
            self._look_at_opening()

    def _look_at_opening(self) -> None:
        if self._opening is None:
            if self._rest.is_due:
                self._opening = self._askers.submit(self._opened)
            return
        if not self._opening.done():
            return
        opening, self._opening = self._opening, None
        try:
            opened = opening.result()
        except Exception as problem:  # noqa: BLE001 - what ends one ends no other
            self._problem = explained(self.key[1], problem)
            _rest_or_end(self._rest, self.key[1], self._problem)
            return
        self._running = [self._begin(one) for one in opened]
        self._problem, self._is_open = None, True

    def _opened(self) -> Sequence[Opened]:
        held = ExitStack()
        try:
            opened = self._open(held)
        except BaseException:
            held.close()
            raise
        with self._lock:
            self._held, leaves = held, self._leaves
        if leaves:
            # Nobody waits for it any more.
            held.close()
        return opened

    def _begin(self, opened: Opened) -> _Running:
        job = BackgroundJob(opened.name, opened.job, opened.askers, opened.prepare, FINAL)
        if opened.run is None:
            return _Running(opened, job, self._shared, self._shared.add(job))
        line = Line(opened.name, [], opened.checkpoint, opened.run, once=False)
        return _Running(opened, job, line.__enter__(), line.add(job))

    def _look_at(self, one: _Running, spark: SparkSession) -> None:
        if one.line is not self._shared:
            one.line.look(spark)
        if one.turns is None:
            if one.rest.is_due:
                one.turns = one.line.add(one.job)
            return
        reason = one.turns.reason
        one.problem = reason
        if reason is None and one.job.problem is None:
            one.rest.failures = 0
        # A line leaves alone what waiting alone does not mend; here somebody may mend it.
        if reason is not None and one.turns.ended and one.line.remove(one.opened.name):
            one.turns = None
            _rest_or_end(one.rest, one.opened.name, reason)

    def _go(self) -> None:
        if self._closing is not None:
            return
        # Each is told, before it is asked whether all have gone.
        gone = [one.line.remove(one.opened.name) for one in self._running]
        if all(gone):
            self._closing = self._closers.submit(self._close)

    def _close(self) -> None:
        for one in self._running:
            if one.line is not self._shared:
                one.line.__exit__(None, None, None)
        with self._lock:
            held = self._held
        held.close()


def _rest_or_end(rest: _Resting, name: str, problem: HeadraceError) -> None:
    if isinstance(problem, FINAL):
        rest.due_at_s = float("inf")
        log.error("a job has ended", job=name, reason=str(problem))
        return
    in_s = round(rest.fail(), 1)
    log.warning("a job rests, and is tried again", job=name, in_s=in_s, reason=problem.message)
