"""A thread that sends events. What begins and ends waits in a bounded queue while nobody takes it."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import structlog

from headrace.lineage.counts import Counts
from headrace.lineage.events import event_of
from headrace.lineage.naming import DatasetNames
from headrace.lineage.runs import Lineage, LineageRun, now, said
from headrace.metrics.definitions import LINEAGE_EVENTS
from headrace.metrics.text import Sample
from headrace.retries import pause_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import RunEvent

    from headrace.config.workspace.lineage import LineageConfig
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.board import Board
    from headrace.lineage.jobs import LineageDataset, LineageJob
    from headrace.lineage.naming import NamedDataset
    from headrace.lineage.runs import RunEnd

# The begins and ends of all streams of a large fleet, several times over.
MOST_EVENTS: Final = 10_000
END_WITHIN_S: Final = 5.0
FIRST_PAUSE_S: Final = 1.0
CHECK_EVERY_S: Final = 0.2
# Counters are read again for an event when they are older.
COUNTS_AGE_S: Final = 1.0
# A receiver that answers so may take the same event later.
TRY_LATER: Final = frozenset({408, 425, 429})
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    run: LineageRun
    state: str
    at: str
    # At its end: a moment later nobody has them any more.
    counts: Counts | None = None


class Reporter(Lineage):
    """Tells a receiver of runs. No method waits for the receiver, but for the end: a moment."""

    is_on = True

    def __init__(
        self, workspace: Workspace, config: LineageConfig, board: Board, client: OpenLineageClient
    ) -> None:
        self._config = config
        self._board = board
        self._client = client
        self._names = DatasetNames(workspace)
        self._changed = threading.Condition()
        self._queue: deque[_Due] = deque()
        self._runs: dict[str, LineageRun] = {}
        self._interval_s = config.interval.total_seconds()
        self._running_at_s = time.monotonic() + self._interval_s
        self._is_closing = self._has_given_up = False
        self._failures = 0
        self._retry_at_s = float("-inf")
        self._counts: tuple[float, Counts] = (float("-inf"), Counts(()))
        self._sent = self._lost = 0
        self._thread = threading.Thread(target=self._work, name="lineage", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        waiting, left = len(self._queue) + 1, len(self._queue)
        while self._thread.is_alive() and left < waiting:
            # As long as events get away, it goes on: a fleet has thousands.
            waiting = left
            self._thread.join(END_WITHIN_S)
            left = len(self._queue)
        with self._changed:
            left = len(self._queue)
            self._lost += left
            self._queue.clear()
        if left:
            log.warning("events of lineage were not sent before the end", events=left)

    def begin(self, job: Callable[[], LineageJob]) -> LineageRun:
        """Tell that a run begins."""
        run = super().begin(job)
        self._runs[run.run_id] = run
        self._put(_Due(run, "START", now()))
        return run

    def end(self, run: LineageRun, how: RunEnd, samples: Iterable[Sample] | None = None) -> None:
        """Tell how a run has ended. By default all that the command measures is of this run."""
        if self._runs.pop(run.run_id, None) is not None:
            counts = self._counted() if samples is None else Counts(samples)
            self._put(_Due(run, how, now(), counts))

    def samples(self) -> Iterator[Sample]:
        """Return what became of events."""
        yield Sample(LINEAGE_EVENTS, {"outcome": "sent"}, self._sent)
        yield Sample(LINEAGE_EVENTS, {"outcome": "lost"}, self._lost)

    def _put(self, due: _Due) -> None:
        with self._changed:
            if len(self._queue) >= MOST_EVENTS:
                self._queue.popleft()
                self._lost += 1
            self._queue.append(due)
            self._changed.notify_all()

    def _work(self) -> None:
        while (due := self._next()) is not None:
            event = self._event(due)
            if event is None or self._emit(event):
                with self._changed:
                    # It may have been pushed out meanwhile.
                    if self._queue and self._queue[0] is due:
                        self._queue.popleft()
        try:
            self._client.close(END_WITHIN_S)
        except Exception as problem:  # noqa: BLE001 - it ends no command
            log.warning("lineage could not be closed", problem=type(problem).__name__)

    def _next(self) -> _Due | None:
        """Wait for the next event; None when all is over."""
        with self._changed:
            while True:
                if self._is_closing:
                    # A receiver that was away is tried once more, and then no more.
                    is_over = not self._queue or self._has_given_up
                    return None if is_over else self._queue[0]
                now_s = time.monotonic()
                if now_s >= self._running_at_s:
                    self._running_at_s = now_s + self._interval_s
                    self._say_running()
                # Before that a table may not be there.
                is_ready = self._board.facts is not None
                if self._queue and is_ready and now_s >= self._retry_at_s:
                    return self._queue[0]
                until_s = self._running_at_s
                if self._queue:
                    until_s = min(until_s, self._retry_at_s if is_ready else now_s + CHECK_EVERY_S)
                self._changed.wait(max(0.0, until_s - now_s))

    def _say_running(self) -> None:
        runs = list(self._runs.values())[:MOST_EVENTS]
        if self._failures:
            # The next one says the same, and more.
            self._lost += len(runs)
        elif not self._queue:
            self._queue.extend(_Due(run, "RUNNING", now()) for run in runs)

    def _event(self, due: _Due) -> RunEvent | None:
        try:
            config = self._config
            datasets = list(self._named([*due.run.job.inputs, *due.run.outputs]))
            counts = self._counts_now() if due.counts is None else due.counts
            return event_of(
                due.run, due.state, due.at, config.namespace, config.interval, datasets, counts
            )
        except Exception as problem:  # noqa: BLE001 - what lineage cannot say stops no job
            self._lost += 1
            log.warning("an event of lineage could not be made", problem=said(problem))
            return None

    def _counts_now(self) -> Counts:
        """Return the counters; they are read once for all runs that are reported together."""
        read_at_s, counts = self._counts
        if time.monotonic() - read_at_s > COUNTS_AGE_S:
            counts = self._counted()
            self._counts = time.monotonic(), counts
        return counts

    def _counted(self) -> Counts:
        facts = self._board.facts
        try:
            return Counts(() if facts is None else facts.samples())
        except Exception as problem:  # noqa: BLE001 - what lineage cannot say stops no job
            log.debug("lineage has no counters", problem=said(problem))
            return Counts(())

    def _named(
        self, datasets: list[LineageDataset]
    ) -> Iterator[tuple[LineageDataset, NamedDataset]]:
        for one in datasets:
            try:
                yield one, self._names.named(one)
            except Exception as problem:  # noqa: BLE001 - a catalog that is away; the next event has it
                log.debug("a dataset has no name yet", dataset=one.location, problem=said(problem))

    def _emit(self, event: RunEvent) -> bool:
        """Send an event; whether it is done with."""
        try:
            self._client.emit(event)
        except Exception as problem:  # noqa: BLE001 - of any transport; its words may name a secret
            return self._failed(problem)
        self._sent += 1
        if self._failures:
            log.info("lineage is sent again", lost=self._lost)
            self._failures = 0
        return True

    def _failed(self, problem: Exception) -> bool:
        status = getattr(getattr(problem, "response", None), "status_code", None)
        is_refused = isinstance(status, int) and 400 <= status < 500 and status not in TRY_LATER
        if not self._failures:
            log.warning(
                "the receiver of lineage refuses events"
                if is_refused
                else "the receiver of lineage does not answer; jobs go on, and it is tried again",
                problem=type(problem).__name__,
                status=status,
            )
        self._failures += 1
        if is_refused:
            self._lost += 1
            return True
        self._has_given_up = self._is_closing
        self._retry_at_s = time.monotonic() + pause_s(self._failures, FIRST_PAUSE_S)
        return False
