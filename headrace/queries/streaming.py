"""Running streaming queries to their end: all that is there now, or until asked to stop."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from typing import TYPE_CHECKING, Protocol

import structlog

from headrace.errors import HeadraceError, Terminal, Transient
from headrace.jvm import failures
from headrace.jvm.failures import error_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.signals import Drain

CHECK_EVERY_S = 0.2
# What Spark passes on of a machine without our Python, without our packages, with another version.
NO_ENVIRONMENT = (
    re.compile(r'Cannot run program "[^"\n]*python[^"\n]*"'),
    re.compile(r"No module named '?headrace[\w.]*'?"),
    re.compile(r"this machine has no python[\d.]+"),
)
log = structlog.get_logger(__name__)


class Watch(Protocol):
    """Knows more of a query's sources than Spark does."""

    def facts(self, progress: StreamingQueryProgress) -> Mapping[str, object]:
        """Return what else there is to say of a batch."""

    def look(self) -> None:
        """Say what there is to say between batches; called several times a second."""


def finish(  # noqa: PLR0913 - how a query is followed
    query: StreamingQuery,
    name: str,
    drain: Drain,
    *,
    until_no_data: bool = False,
    watch: Watch | None = None,
    on_batch: Callable[[StreamingQueryProgress], object] | None = None,
) -> int:
    """Follow a query to its end, or to where it has no more data; returns the rows it read.

    `on_batch` is told the progress of each batch.
    """
    if until_no_data:
        threading.Thread(target=_end_without_data, args=(query,), daemon=True).start()
    reports, rows = Reports(query), 0
    while True:
        ended = not query.isActive
        for progress in reports.new():
            # A query without news reports the batch that would be next, long before it is one.
            if "addBatch" in progress.durationMs:
                read = progress.numInputRows
                rows += read
                more = {} if watch is None else watch.facts(progress)
                log.info("batch processed", name=name, batch=progress.batchId, rows=read, **more)
                if on_batch is not None:
                    on_batch(progress)
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


class Reports:
    """What a query reports of its batches. Spark keeps a hundred of them: each is read once."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._seen: tuple[int, str] | None = None

    def new(self) -> list[StreamingQueryProgress]:
        """Return those that came since the last call, in their order."""
        from pyspark.sql.streaming.listener import (  # noqa: PLC0415 - importing it takes long
            StreamingQueryProgress,
        )

        # pyspark reads and parses all of them each time.
        kept = self._query._jsq.recentProgress()  # noqa: SLF001 - as above
        found = []
        for number in reversed(range(len(kept))):
            report = kept[number]
            if (report.batchId(), report.timestamp()) == self._seen:
                break
            found.append(StreamingQueryProgress.fromJson(json.loads(report.json())))
        if found:
            self._seen = (found[0].batchId, found[0].timestamp)
        return found[::-1]


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
    without = _without_environment(text)
    if without is not None:
        return Terminal(
            f"{name} stopped: the cluster's machines have not the Python environment: {without}",
            "headrace package packs it, and spark.archives ships it; or install it there, and name "
            "its Python in spark.pyspark.python (docs/clusters.md)",
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


def is_active(name: str, query: StreamingQuery) -> bool:
    """Whether a query runs; a JVM that has ended is told of in a sentence."""
    try:
        return query.isActive
    except Exception as problem:
        if not failures.has_ended(problem):
            raise
        raise explained(name, problem) from None


def _without_environment(text: str) -> str | None:
    """Return what a machine lacks that is to run tasks; None where that is not the reason."""
    for pattern in NO_ENVIRONMENT:
        found = pattern.search(text)
        if found is not None:
            return found[0].strip()
    return None
