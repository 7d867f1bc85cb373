"""What the jobs of a stream report over HTTP."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.contract import QUARANTINE
from headrace.http.board import Facts
from headrace.http.rows import NotReady, OutputRow, StreamRow, state_of_all
from headrace.metrics.definitions import (
    BATCH_DURATION,
    LAG_RECORDS,
    LAG_SECONDS,
    LEDGER_GAP,
    QUARANTINED,
    RECORDS_DROPPED,
    RECORDS_FILTERED,
    RECORDS_IN,
    RECORDS_OUT,
)
from headrace.metrics.text import Sample
from headrace.times import SECOND_US, format_time_us
from router.ledger.entries import total
from router.run.ledger_rows import ledger_row, lost_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.http.detail_rows import LedgerRow
    from headrace.line.standing import JobStanding
    from router.ledger.entries import Counts
    from router.ledger.places import Place
    from router.run.job import RouterJob
    from router.run.member import Member


class StreamFacts(Facts):
    """A stream whose jobs run in this process. Each answer looks at the jobs again."""

    def __init__(
        self, stream: str, standings: Callable[[], Sequence[JobStanding[RouterJob]]]
    ) -> None:
        self._stream = stream
        self._standings = standings

    def jobs(self) -> Iterable[tuple[str, str]]:
        """Return the stream."""
        return [("stream", self._stream)]

    def not_ready(self) -> Iterator[NotReady]:
        """Return the outputs that do not run; the quarantine counts as one."""
        for one in self._standings():
            if (why := one.not_ready) is not None:
                for name in one.job.members:
                    yield NotReady("stream", self._stream, name, why, one.advice)

    def streams(self) -> Sequence[StreamRow]:
        """Return the stream. A problem of its quarantine is a problem of the whole stream."""
        outputs, quarantine = [], None
        for one in self._standings():
            for name, member in one.job.members.items():
                row = _output_row(name, member, one)
                if name == QUARANTINE:
                    quarantine = row
                else:
                    outputs.append(row)
        whole = [*outputs, *([] if quarantine is None else [quarantine])]
        problem = next((one.problem for one in whole if one.problem is not None), None)
        state = state_of_all([one.state for one in whole])
        return [StreamRow(self._stream, state, problem, outputs)]

    def ledger(self, stream: str) -> Sequence[LedgerRow] | None:
        """Return the ledgers as the jobs have them in memory."""
        if stream != self._stream:
            return None
        return [
            ledger_row(name, member.places.copy(), one.job.ends)
            for one in self._standings()
            for name, member in one.job.members.items()
        ]

    def samples(self) -> Iterator[Sample]:
        """Return the metrics of each output, and of the quarantine."""
        for one in self._standings():
            for name, member in one.job.members.items():
                yield from _samples({"stream": self._stream, "output": name}, member, one.job)


def _output_row(name: str, member: Member, standing: JobStanding[RouterJob]) -> OutputRow:
    problem = None if standing.problem is None else standing.problem.message
    places = member.places.copy()
    if not places:
        return OutputRow(name, standing.state, problem)
    counts, lag = total(one.counts for one in places.values()), _lag(places, standing.job)
    lost, complete_us = lost_in(places.values()), standing.job.completeness.time_us
    complete = None if complete_us is None else format_time_us(complete_us)
    return OutputRow(
        name,
        standing.state,
        problem,
        lag,
        **counts.numbers,
        lost=lost,
        complete_up_to=complete,
    )


def _samples(labels: dict[str, str], member: Member, job: RouterJob) -> Iterator[Sample]:
    places = member.places.copy()
    if not places:
        return
    yield from counted(labels, member.counts_since_start(places))
    yield Sample(LEDGER_GAP, labels, lost_in(places.values()))
    if labels["output"] != QUARANTINE or len(job.members) == 1:
        # Where it shares the batches of outputs, these tell of them.
        yield Sample(BATCH_DURATION, labels, job.durations)
    if (lag := _lag(places, job)) is not None:
        yield Sample(LAG_RECORDS, labels, lag)
    if (complete_us := job.completeness.time_us) is not None:
        yield Sample(LAG_SECONDS, labels, max(0.0, time.time() - complete_us / SECOND_US))


def counted(labels: dict[str, str], counts: Counts) -> Iterator[Sample]:
    """Return what became of the records of an output, or of the quarantine."""
    yield Sample(RECORDS_IN, labels, counts.read)
    yield Sample(RECORDS_FILTERED, labels, counts.filtered)
    if labels["output"] == QUARANTINE:
        # Where the records go that its outputs have to do without.
        yield Sample(RECORDS_OUT, labels, counts.quarantined)
    else:
        yield Sample(RECORDS_OUT, labels, counts.written)
        yield Sample(QUARANTINED, labels, counts.quarantined)
    for reason, number in counts.dropped.items():
        yield Sample(RECORDS_DROPPED, {**labels, "reason": reason}, number)


def _lag(places: dict[int, Place], job: RouterJob) -> int | None:
    """Return how many offsets are behind the positions; None where nobody has looked yet."""
    if not job.ends:
        return None
    # A partition that came after the first batch is read from its beginning.
    at = {number: place.stretch.end_exclusive for number, place in places.items()}
    return sum(max(0, end - at.get(number, 0)) for number, end in job.ends.items())
