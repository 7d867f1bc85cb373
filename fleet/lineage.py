"""Which files of a fleet lineage is told of: streams and lake tables that run in its process.

What has a process of its own tells of itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fleet.line_unit import LineUnit
from fleet.unit_facts import facts_of
from headrace.config.load import LoadedLakeTable, LoadedStream
from headrace.config.stream.effective import effective
from headrace.lineage.declared import stream_job, table_job
from headrace.lineage.runs import said

if TYPE_CHECKING:
    from fleet.follow import Key, Wanted
    from fleet.process_unit import ProcessUnit
    from headrace.lineage.jobs import LineageJob
    from headrace.lineage.runs import Lineage, LineageRun, RunEnd


class UnitRuns:
    """The runs of units: each from its start to when its file is changed or removed, or to the end."""

    def __init__(self, lineage: Lineage, region: str | None) -> None:
        self._lineage = lineage
        self._region = region
        self._runs: dict[Key, tuple[Wanted, LineUnit, LineageRun]] = {}

    def begin(self, wanted: Wanted, unit: LineUnit | ProcessUnit) -> None:
        """Tell that a file is run from now on."""
        if not self._lineage.is_on or not isinstance(unit, LineUnit):
            return
        match wanted.loaded:
            case LoadedLakeTable() as table:
                job = partial(table_job, table)
            case LoadedStream() as stream:
                job = partial(_stream_job, stream, wanted, self._region)
            case _:
                return
        self._runs[wanted.key] = wanted, unit, self._lineage.begin(job)

    def end(self, key: Key, how: RunEnd = "COMPLETE") -> None:
        """Tell that a file is not run any more."""
        if key in self._runs:
            wanted, unit, run = self._runs.pop(key)
            self._lineage.end(run, how, facts_of(wanted, unit).samples())

    def fail(self, problem: BaseException) -> None:
        """Tell that nothing is run any more, because of this."""
        for key, (_, _, run) in list(self._runs.items()):
            run.error = said(problem)
            self.end(key, "ABORT" if isinstance(problem, KeyboardInterrupt) else "FAIL")


def _stream_job(stream: LoadedStream, wanted: Wanted, region: str | None) -> LineageJob:
    return stream_job(effective(stream, wanted.workspace, region), wanted.workspace)
