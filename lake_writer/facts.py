"""What a lake writer reports over HTTP of its table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.http.board import CachedAnswer, Facts
from headrace.http.rows import NotReady, TableRow
from headrace.metrics.definitions import (
    BATCH_DURATION,
    COMMIT_DURATION,
    COMMITTED_BYTES,
    COMMITTED_FILES,
    COMMITTED_ROWS,
    LAG_RECORDS,
    LAG_SECONDS,
    QUARANTINED,
    RECORDS_DROPPED,
    RECORDS_IN,
    SINCE_LAST_COMMIT,
    TABLE_COMPLETE_UP_TO,
)
from headrace.metrics.text import Sample
from headrace.times import SECOND_US, format_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.http.table_rows import TableDetail
    from headrace.line.standing import JobStanding
    from lake_writer.table_detail import TableDetails
    from lake_writer.writer import LandingJob


class TableFacts(Facts):
    """A lake table whose writer runs in this process."""

    def __init__(
        self,
        name: str,
        table: str,
        standings: Callable[[], Sequence[JobStanding[LandingJob]]],
        details: TableDetails | None = None,
    ) -> None:
        self._details = None if details is None else CachedAnswer("table", details.ask)
        self._name = name
        self._table = table
        self._standings = standings

    def jobs(self) -> Iterable[tuple[str, str]]:
        """Return the table."""
        return [("lake_table", self._name)]

    def not_ready(self) -> Iterator[NotReady]:
        """Return the table if its writer does not run."""
        for one in self._standings():
            if (why := one.not_ready) is not None:
                yield NotReady("lake_table", self._name, None, why, one.advice)

    def tables(self) -> Sequence[TableRow]:
        """Return the table."""
        return [self._row(one) for one in self._standings()]

    def table(self, name: str) -> TableDetail | None:
        """Return what the files and snapshots of the table tell."""
        return self._details.value() if self._details and name == self._name else None

    def samples(self) -> Iterator[Sample]:
        """Return the metrics of the table."""
        for one in self._standings():
            yield from _samples({"table": self._name}, one.job)

    def _row(self, standing: JobStanding[LandingJob]) -> TableRow:
        job, problem = standing.job, standing.problem
        totals = job.totals
        return TableRow(
            self._name,
            self._table,
            standing.state,
            None if problem is None else problem.message,
            job.lag,
            totals.rows,
            _time(job.completeness.time_us),
            _time(totals.last_commit_us),
            totals.files,
        )


def _samples(labels: dict[str, str], job: LandingJob) -> Iterator[Sample]:
    landed, shown, now_s = job.landed, job.shown, time.time()
    yield Sample(RECORDS_IN, labels, shown.records)
    yield Sample(QUARANTINED, labels, landed.quarantined)
    # The tasks of a lake writer count them together.
    yield Sample(RECORDS_DROPPED, {**labels, "reason": "any"}, landed.dropped)
    yield Sample(COMMITTED_ROWS, labels, landed.rows)
    yield Sample(COMMITTED_BYTES, labels, shown.bytes)
    yield Sample(COMMITTED_FILES, labels, shown.files)
    yield Sample(BATCH_DURATION, labels, shown.batches)
    yield Sample(COMMIT_DURATION, labels, shown.commits)
    if (lag := job.lag) is not None:
        yield Sample(LAG_RECORDS, labels, lag)
    if (complete_us := job.completeness.time_us) is not None:
        yield Sample(TABLE_COMPLETE_UP_TO, labels, complete_us / SECOND_US)
        yield Sample(LAG_SECONDS, labels, max(0.0, now_s - complete_us / SECOND_US))
    if (commit_us := job.totals.last_commit_us) is not None:
        yield Sample(SINCE_LAST_COMMIT, labels, max(0.0, now_s - commit_us / SECOND_US))


def _time(time_us: int | None) -> str | None:
    return None if time_us is None else format_time_us(time_us)
