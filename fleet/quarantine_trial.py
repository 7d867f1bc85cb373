"""What a stream, as its file is now, would make of the records in its quarantine. Nothing is sent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from fleet.quarantine_rows import Reading, newest_kept
from headrace.http.detail_rows import QuarantineTrial, TriedOutput
from headrace.records.hygiene.rules import Broken
from router.explain.outcomes import Evaluator, Filtered, Passed
from router.plan.planner import Planner
from router.quarantine.records import count_reason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from router.explain.outcomes import Outcome
    from router.quarantine.records import QuarantinedRecord

AT_ONCE: Final = 500
MOST_SHOWN: Final = 10


@dataclass(slots=True)
class Tally:
    """What became of records for one output."""

    written: int = 0
    filtered: int = 0
    unknown: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome | None) -> None:
        """Count an outcome; None where only Spark could say."""
        match outcome:
            case Passed():
                self.written += 1
            case Filtered():
                self.filtered += 1
            case Broken():
                count_reason(self.reasons, outcome.reason, "other reasons")
            case None:
                self.unknown += 1

    def row(self, name: str) -> TriedOutput:
        """Return it for a page."""
        return TriedOutput(
            name,
            self.written,
            self.filtered,
            self.reasons.total(),
            self.unknown,
            self.reasons.most_common(MOST_SHOWN),
        )


def quarantine_trial(workspace: Workspace, stream: Effective) -> QuarantineTrial:
    """Evaluate the newest rejected records again, each for the outputs that it failed for."""
    plan = Planner(workspace, stream).plan()
    names = [one.name for one in plan.outlets]
    evaluate, reading = Evaluator(plan, names, None), Reading()
    tallies = {name: Tally() for name in names}
    records = 0
    kept = newest_kept(workspace, stream, reading)
    for some in _batches(kept):
        asked = [(one.record, _wanted(one, stream.config.name, names)) for one in some]
        for (_, wanted), one in zip(asked, evaluate(asked), strict=True):
            for name in wanted:
                tallies[name].add(one.broken or one.outcomes.get(name))
        records += len(some)
    rows = [tally.row(name) for name, tally in tallies.items()]
    return QuarantineTrial(stream.config.name, records, reading.unread, rows)


def _wanted(kept: QuarantinedRecord, stream: str, names: Collection[str]) -> list[str]:
    """Return the outputs that a record failed for, of those that there are."""
    output = kept.outputs(stream)
    return [name for name in names if not output or name == output]


def _batches(records: Iterator[QuarantinedRecord]) -> Iterator[Sequence[QuarantinedRecord]]:
    while some := list(islice(records, AT_ONCE)):
        yield some
