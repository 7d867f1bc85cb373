"""Running streaming queries to their end: all that is there now, or until asked to stop."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Protocol

import structlog

from headrace.errors import HeadraceError, Terminal, Transient
from headrace.jvm import failures
from headrace.jvm.failures import error_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.signals import Drain

CHECK_EVERY_S = 0.2
log = structlog.get_logger(__name__)


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
