"""A run of a job, and whom its begin and its end are told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias
from uuid import uuid4

from headrace.errors import HeadraceError
from headrace.lineage.jobs import LineageDataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headrace.lineage.jobs import LineageJob, LineageResult
    from headrace.metrics.text import Sample

RunEnd: TypeAlias = Literal["COMPLETE", "FAIL", "ABORT"]


class LineageRun:
    """A run. Whoever runs it sets its result before its end.

    What its job is takes a moment to find out, so it is asked for by whoever tells of it.
    """

    def __init__(self, job: Callable[[], LineageJob]) -> None:
        self.run_id = str(uuid4())
        self.result: LineageResult | None = None
        self.error: str | None = None
        self._ask = job
        self._job: LineageJob | None = None

    @property
    def job(self) -> LineageJob:
        """What runs."""
        if self._job is None:
            self._job = self._ask()
        return self._job

    @property
    def outputs(self) -> Sequence[LineageDataset]:
        """What it writes, as far as that is known by now."""
        if self.result is None or self.result.output is None:
            return self.job.outputs
        return [LineageDataset(self.result.output)]


class Lineage:
    """Tells nobody of runs: what a command has where lineage is not configured."""

    is_on = False

    def begin(self, job: Callable[[], LineageJob]) -> LineageRun:
        """Tell that a run begins."""
        return LineageRun(job)

    def end(self, run: LineageRun, how: RunEnd, samples: Iterable[Sample] | None = None) -> None:
        """Tell how a run has ended, with the metrics that it has come to."""


def said(problem: BaseException) -> str:
    """Return what an error says of itself to others: the words of a library may name a secret."""
    return problem.message if isinstance(problem, HeadraceError) else type(problem).__name__


def now() -> str:
    """Return the time of an event."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
