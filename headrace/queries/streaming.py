"""Running streaming queries to their end: all that is there now, or until asked to stop."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import structlog

from headrace.errors import HeadraceError, Terminal, Transient
from headrace.jvm import failures
from headrace.jvm.failures import error_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.signals import Drain

CHECK_EVERY_S = 0.2
COMMIT_LIMIT_S = 30.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """One query: rows in, each batch handled, its position kept in a checkpoint of its own."""

    name: str
    rows: DataFrame
    handle: Callable[[DataFrame, int], None]
    checkpoint: Path
    interval: timedelta | None = None


class DrainedBatch(Exception):
    """Ends a query before a batch that nobody wants any more."""


class RunningJob:
    """A started job, whose batches are counted and whose end is explained by its cause."""

    def __init__(self, job: Job, *, once: bool) -> None:
        self._job = job
        self._busy = threading.Lock()
        self._draining = False
        self._last_batch = -1
        self._failure: BaseException | None = None
        writer = (
            job.rows.writeStream.queryName(job.name)
            .option("checkpointLocation", str(job.checkpoint))
            .foreachBatch(self._on_batch)
        )
        if once:
            writer = writer.trigger(availableNow=True)
        elif job.interval is not None:
            millis = max(1, round(job.interval.total_seconds() * 1000))
            writer = writer.trigger(processingTime=f"{millis} milliseconds")
        self._query: StreamingQuery = writer.start()

    @property
    def active(self) -> bool:
        """Whether the query still runs."""
        try:
            return self._query.isActive
        except Exception as problem:
            if not failures.has_ended(problem):
                raise
            raise explained(self._job.name, problem) from None

    def begin_no_more(self) -> None:
        """Let the batch at hand be the last."""
        if self.active:
            # One that ended by itself was not drained, and why is raised.
            self._draining = True

    def drain(self) -> None:
        """Let the batch at hand end and be committed, then stop."""
        self.begin_no_more()
        if not self.active:
            return
        with self._busy:
            commit = self._job.checkpoint / "commits" / str(self._last_batch)
            deadline = time.monotonic() + COMMIT_LIMIT_S
            while self._last_batch >= 0 and self.active and not commit.exists():
                if time.monotonic() > deadline:
                    break
                time.sleep(CHECK_EVERY_S)
        # Not under the lock: Spark waits for a batch, and a batch that is due waits for the lock.
        self._query.stop()

    def failure(self) -> HeadraceError | None:
        """Return why the query ended, None where it ended well."""
        if isinstance(self._failure, DrainedBatch) or (self._draining and self._failure is None):
            return None
        if isinstance(self._failure, HeadraceError):
            return self._failure
        problem = self._query.exception()
        if problem is None and self._failure is None:
            return None
        return explained(self._job.name, self._failure or problem)

    def _refuse_if_draining(self) -> None:
        if self._draining:
            raise DrainedBatch

    def _on_batch(self, batch: DataFrame, batch_id: int) -> None:
        with self._busy:
            try:
                self._refuse_if_draining()
                self._job.handle(batch, batch_id)
            except BaseException as problem:
                self._failure = problem
                raise
            self._last_batch = batch_id

    @property
    def progressed(self) -> bool:
        """Whether it has done a batch."""
        return self._last_batch >= 0


class Watch(Protocol):
    """Knows more of a query's sources than Spark does."""

    def facts(self, progress: StreamingQueryProgress) -> Mapping[str, object]:
        """Return what else there is to say of a batch."""

    def look(self) -> None:
        """Say what there is to say between batches; called several times a second."""


def finish(
    query: StreamingQuery,
    name: str,
    drain: Drain,
    *,
    until_no_data: bool = False,
    watch: Watch | None = None,
) -> int:
    """Follow a query to its end, or to where it has no more data; returns the rows it read."""
    if until_no_data:
        threading.Thread(target=_end_without_data, args=(query,), daemon=True).start()
    last, rows = -1, 0
    while True:
        ended = not query.isActive
        for progress in query.recentProgress:
            # A query without news reports the batch that would be next, long before it is one.
            if progress.batchId > last and "addBatch" in progress.durationMs:
                last = progress.batchId
                rows += progress.numInputRows
                more = {} if watch is None else watch.facts(progress)
                read = progress.numInputRows
                log.info("batch processed", name=name, batch=last, rows=read, **more)
        if watch is not None:
            watch.look()
        if ended:
            break
        if drain.wait(CHECK_EVERY_S):
            query.stop()
    # Inactive it is a moment before its name is free for another. What this raises is explained below.
    with contextlib.suppress(Exception):
        query.awaitTermination()
    problem = query.exception()
    if problem is not None and not drain.requested:
        raise explained(name, problem)
    return rows


def _end_without_data(query: StreamingQuery) -> None:
    # It raises what ended the query, which the one who follows it tells better.
    with contextlib.suppress(Exception):
        query.processAllAvailable()
        query.stop()


def explained(name: str, problem: BaseException | None) -> HeadraceError:
    """Say in a sentence what ended a query, from the words of Spark and its connectors."""
    if isinstance(problem, HeadraceError):
        return problem
    if failures.has_ended(problem):
        return Transient(f"{name} stopped: Spark's JVM ended", "its Spark log may show the cause")
    text = str(problem) or type(problem).__name__
    ours = error_in(text)
    if ours is not None:
        return ours
    if "No space left on device" in text:
        return Terminal(f"{name} stopped: the disk is full", "free some space, start it again")
    if "Some data may have been lost" in text or "OffsetOutOfRange" in text:
        return Terminal(
            f"{name} stopped: Kafka no longer has records that were not read yet",
            "retention removed them, or the topic was deleted and re-created: start with a new "
            "state_dir from the records that remain, or restore the topic",
        )
    if "long overflow" in text and "fromJavaTimestamp" in text:
        return Terminal(
            f"{name} stopped: a record's Kafka timestamp lies beyond the year 294247,"
            " which Spark cannot read",
            "its producer did not send milliseconds; delete the topic's records up to it "
            "(kafka-delete-records), and make the topic reject such times "
            "(message.timestamp.after.max.ms)",
        )
    if "Python worker failed to connect back" in text:
        return Transient(
            f"{name} stopped: a Python process did not start within the ten seconds that Spark "
            "allows",
            "the machine is too busy; start it again",
        )
    if "TimeoutException" in text or "DisconnectException" in text:
        return Transient(
            f"{name} stopped: Kafka does not answer", "start it again when Kafka answers"
        )
    lines = [line for line in text.splitlines() if line.strip()]
    caused = [line for line in lines if line.startswith("Caused by:")] or lines[:1]
    return Transient(f"{name} stopped: {caused[-1].strip()}", "its Spark log has the details")
