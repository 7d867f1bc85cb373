"""What a stream, by a file that may be changed, would make of its rejected records.

Nothing is sent or written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from fleet.quarantine_rows import Reading, bounded_key, key_of, waiting_records
from headrace.http.quarantine_rows import QuarantineTrial, TriedGroup, TriedOutput
from headrace.records.hygiene.rules import Broken
from router.explain.outcomes import Evaluator, Filtered, Passed
from router.plan.model import ToTable
from router.quarantine.records import count_reason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.file_rows import FilesCheck
    from headrace.http.quarantine_rows import GroupKey
    from router.explain.outcomes import Outcome
    from router.plan.model import RoutePlan
    from router.quarantine.records import QuarantinedRecord

    Tried: TypeAlias = tuple[QuarantinedRecord, Sequence[str]]

AT_ONCE: Final = 500
MOST_SHOWN: Final = 10


@dataclass(slots=True)
class Tally:
    """What became of records for one output."""

    written: int = 0
    filtered: int = 0
    dropped: int = 0
    unknown: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome | None) -> None:
        """Count an outcome; None where only Spark could say."""
        match outcome:
            case Passed():
                self.written += 1
            case Filtered():
                self.filtered += 1
            case Broken(action="drop"):
                self.dropped += 1
            case Broken():
                count_reason(self.reasons, outcome.reason, "other reasons")
            case None:
                self.unknown += 1

    def row(self, name: str, *, is_table: bool) -> TriedOutput:
        """Return it for a page."""
        return TriedOutput(
            name,
            self.written,
            self.filtered,
            self.reasons.total(),
            self.unknown,
            self.reasons.most_common(MOST_SHOWN),
            self.dropped,
            is_table,
        )


@dataclass(slots=True)
class GroupTally:
    """What became of the records of one reason."""

    records: int = 0
    mended: int = 0
    rejected: int = 0
    unknown: int = 0

    def add(self, outcomes: Collection[Outcome | None]) -> None:
        """Count a record by what becomes of it for each output that a replay would try."""
        self.records += 1
        if any(isinstance(one, Broken) and one.action != "drop" for one in outcomes):
            self.rejected += 1
        elif None in outcomes:
            self.unknown += 1
        elif outcomes:
            self.mended += 1


class Trial:
    """Evaluates rejected records again, each for the outputs that it failed for, and counts."""

    def __init__(self, plan: RoutePlan) -> None:
        names = [one.name for one in plan.outlets]
        self._plan = plan
        self._evaluate = Evaluator(plan, names, None)
        self._tables = {one.name for one in plan.outlets if isinstance(one.target, ToTable)}
        self._outputs = {name: Tally() for name in names}
        self._groups: dict[GroupKey, GroupTally] = {}
        self._records = self._skipped = 0

    def add(self, records: Sequence[Tried]) -> None:
        """Evaluate some records; with each come the outputs that are done with it."""
        self._records += len(records)
        asked = [(kept.record, self._wanted(kept, settled)) for kept, settled in records]
        for (kept, _), (_, names), found in zip(records, asked, self._evaluate(asked), strict=True):
            outcomes = {name: found.broken or found.outcomes.get(name) for name in names}
            for name, outcome in outcomes.items():
                self._outputs[name].add(outcome)
            key = bounded_key(key_of(kept, self._plan.stream), self._groups)
            group = self._groups.setdefault(key, GroupTally())
            group.add([one for name, one in outcomes.items() if name not in self._tables])

    def result(self, unread: int, check: FilesCheck) -> QuarantineTrial:
        """Return what was counted; `unread` records were not tried."""
        return QuarantineTrial(
            self._plan.stream,
            self._records,
            unread,
            [one.row(name, is_table=name in self._tables) for name, one in self._outputs.items()],
            [
                TriedGroup(*key, one.records, one.mended, one.rejected, one.unknown)
                for key, one in self._groups.items()
            ],
            self._skipped,
            check,
        )

    def _wanted(self, kept: QuarantinedRecord, settled: Sequence[str]) -> list[str]:
        """Return the outputs that a record failed for, and that wait for it."""
        if kept.record.topic() != self._plan.source.topic:
            self._skipped += 1
            return []
        output = kept.outputs(self._plan.stream)
        return [name for name in self._outputs if output in {"", name} and name not in settled]


def quarantine_trial(
    workspace: Workspace, stream: Effective, plan: RoutePlan, check: FilesCheck
) -> QuarantineTrial:
    """Try a plan over the newest records of a stream's quarantine that no replay has finished.

    `check` says what was changed for it.
    """
    trial, reading = Trial(plan), Reading()
    for some in _batches(waiting_records(workspace, stream, reading)):
        trial.add(some)
    return trial.result(reading.unread, check)


def _batches(records: Iterable[Tried]) -> Iterator[Sequence[Tried]]:
    left = iter(records)
    while some := list(islice(left, AT_ONCE)):
        yield some
