"""The turns of one job: when it is due, when it rests after a failure, when it has ended."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog

from headrace.errors import HeadraceError, Terminal
from headrace.line.background import BackgroundJob
from headrace.line.job import Paced
from headrace.queries.streaming import explained
from headrace.retries import pause_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.line.job import Batch, Job

FIRST_PAUSE_S: Final = 1.0
# How often a job without an interval looks for something to do: at once after a batch, then less often.
FIRST_LOOK_S: Final = 0.002
LOOK_EVERY_S: Final = 0.05
# Jobs with the same interval, where that is not less, are due together: one batch for all of them.
SHORTEST_TOGETHER_S: Final = 0.1
# Jobs that wait for one answer look for it at the same moments.
LOOKS_MEET_S: Final = 0.05
_ORIGIN_S: Final = time.monotonic()
# What is to end by itself is not tried for ever.
MOST_TRIES_ONCE: Final = 3
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Turns:
    """One job and how it fares: `reason` is why it does not run now, or why it has ended."""

    job: Job
    once: bool
    reason: HeadraceError | None = None
    ended: bool = False
    due_at_s: float = float("-inf")
    _begun: bool = False
    _failures: int = 0
    _looks: int = 0

    @property
    def due_in_s(self) -> float:
        """How long until its next turn."""
        return max(0.0, self.due_at_s - time.monotonic())

    @property
    def has_begun(self) -> bool:
        """Whether it knows where it is, and was not interrupted since."""
        return self._begun

    @property
    def interval_s(self) -> float:
        """The time between two of its batches, 0 where it waits for none."""
        job = self.job.job if isinstance(self.job, BackgroundJob) else self.job
        return job.interval.total_seconds() if job.interval else 0.0

    def share(self, most_s: float) -> None:
        """Let no batch of it take longer than the others of its line wait."""
        job = self.job.job if isinstance(self.job, BackgroundJob) else self.job
        if isinstance(job, Paced):
            job.pace.most_s = most_s

    def take(self, others_s: float | None = None) -> Batch | None:
        """Return what it has to do, where it is due and has something.

        `others_s` is how often others of its line are due; None where there are none.
        """
        if self.ended or self.due_in_s:
            return None
        began_s = time.monotonic()
        try:
            if not self._begun:
                self.job.begin()
                self._begun, self.reason = True, None
            batch = self.job.next_batch()
        except Exception as problem:  # noqa: BLE001 - what ends one job ends no other
            self.fail(problem)
            return None
        if batch is None and self.once and self.job.is_done:
            self.ended = True
        self._looks = 0 if batch is not None else self._looks + 1
        interval = None if self.once else self.job.interval or None
        if batch is not None and (batch.lag or interval is None):
            # What a batch leaves over is not waited for; but with what others have come to by then.
            wait_s = 0.0 if self.once else others_s or 0.0
        elif interval is None:
            wait_s = min(FIRST_LOOK_S * self._looks**2, LOOK_EVERY_S)
        else:
            wait_s = interval.total_seconds()
        self.due_at_s = (
            _tick_after(began_s + wait_s, LOOKS_MEET_S)
            if isinstance(self.job, BackgroundJob) and self.job.waits_with_others
            else _on_grid(began_s, wait_s)
        )
        return batch

    @property
    def is_asked(self) -> bool:
        """Whether it will be known in a moment what there is to do."""
        return isinstance(self.job, BackgroundJob) and self.job.is_asked

    def finish(self, answers: Sequence[Any]) -> None:
        """Let it make a batch true."""
        try:
            self.job.finish(answers)
        except Exception as problem:  # noqa: BLE001 - as above
            self.fail(problem)
        else:
            self._failures = 0

    def fail(self, problem: BaseException) -> None:
        """Let it rest before it begins again, or end where that would change nothing."""
        reason = explained(self.job.name, problem)
        self._begun, self._failures, self.reason = False, self._failures + 1, reason
        is_last = self.once and self._failures >= MOST_TRIES_ONCE
        if isinstance(reason, Terminal) or is_last:
            self.ended = True
            log.error("a job has ended", job=self.job.name, reason=str(reason))
            return
        wait_s = pause_s(self._failures, FIRST_PAUSE_S)
        self.due_at_s = time.monotonic() + wait_s
        log.warning(
            "a job is restarted", job=self.job.name, in_s=round(wait_s, 1), reason=reason.message
        )


def _on_grid(began_s: float, wait_s: float) -> float:
    """Return when a wait is over: jobs that wait as long as each other meet."""
    if wait_s < SHORTEST_TOGETHER_S:
        return began_s + wait_s
    return _tick_after(began_s, wait_s)


def _tick_after(at_s: float, every_s: float) -> float:
    return _ORIGIN_S + ((at_s - _ORIGIN_S) // every_s + 1) * every_s
