"""Jobs under supervision: one that fails for now is started again, later each time.

A job ends for good with the reason when trying again would give the same answer; the others run on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from headrace.errors import HeadraceError, Terminal
from headrace.queries.streaming import RunningJob, explained
from headrace.retries import pause_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.queries.streaming import Job
    from headrace.signals import Drain

CHECK_EVERY_S: Final = 0.2
FIRST_PAUSE_S: Final = 1.0
# What is to end by itself is not tried for ever.
MOST_TRIES_ONCE: Final = 3
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Supervised:
    """A job that can be started again, and how it fares: `reason` is why it does not run."""

    name: str
    make: Callable[[], Job]
    running: RunningJob | None = None
    failures: int = 0
    again_at_s: float = 0.0
    ended: bool = False
    reason: HeadraceError | None = None

    def start(self, *, once: bool) -> None:
        """Start it; what keeps it from starting is a failure like any other."""
        try:
            self.running, self.reason = RunningJob(self.make(), once=once), None
        except Exception as problem:  # noqa: BLE001 - what keeps one from starting ends no other
            self._failed(explained(self.name, problem), once=once)

    def look(self, *, once: bool) -> None:
        """See whether it has ended, and decide what then."""
        if self.ended:
            return
        if self.running is None:
            if time.monotonic() >= self.again_at_s:
                self.start(once=once)
            return
        if self.running.active:
            if self.running.progressed:
                self.failures = 0
            return
        problem, self.running = self.running.failure(), None
        if problem is None:
            self.ended = True
        else:
            self._failed(problem, once=once)

    def begin_no_more(self) -> None:
        """Let the batch at hand be the last; others may still be at theirs."""
        if self.running is not None:
            self.running.begin_no_more()

    def drain(self) -> None:
        """Let the batch at hand end, and go no further.

        One that waits for its next try has no batch at hand: it has failed, and stays so.
        """
        if self.running is not None:
            self.running.drain()
            self.reason = self.running.failure()
        self.ended = True

    def _failed(self, problem: HeadraceError, *, once: bool) -> None:
        self.failures, self.reason = self.failures + 1, problem
        is_last = once and self.failures >= MOST_TRIES_ONCE
        if isinstance(problem, Terminal) or is_last:
            self.ended = True
            log.error("a job has ended", job=self.name, reason=str(problem))
            return
        wait_s = pause_s(self.failures, FIRST_PAUSE_S)
        self.again_at_s = time.monotonic() + wait_s
        log.warning(
            "a job is restarted", job=self.name, in_s=round(wait_s, 1), reason=problem.message
        )


def supervise(
    jobs: Mapping[str, Callable[[], Job]], drain: Drain, *, once: bool
) -> Sequence[Supervised]:
    """Run jobs until each has ended for good, or until asked to drain; return how they ended."""
    all_jobs = [Supervised(name, make) for name, make in jobs.items()]
    for job in all_jobs:
        if not drain.requested:
            job.start(once=once)
    while not all(job.ended for job in all_jobs) and not drain.wait(CHECK_EVERY_S):
        for job in all_jobs:
            job.look(once=once)
    for job in all_jobs:
        job.begin_no_more()
    for job in all_jobs:
        if not job.ended:
            job.drain()
    return all_jobs


def raise_failures(jobs: Sequence[Supervised]) -> None:
    """Raise why jobs have ended badly, if any has."""
    reasons = [job.reason for job in jobs if job.reason is not None]
    if len(reasons) == 1:
        raise reasons[0]
    if reasons:
        raise Terminal("\n".join(str(reason) for reason in reasons))
