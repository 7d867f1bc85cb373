"""Records of a quarantine, evaluated, sent and noted, a group at a time."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.records.hygiene import Broken
from router.kept import MOST_REASONS
from router.outcomes import Decoder, DirectOutcomes, Failed, Filtered, Passed, lane_of
from router.replay_sending import ReplaySending

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from router.kept import Kept
    from router.outcomes import BySpark, Outcome
    from router.plan import RoutePlan
    from router.replayed import Replayed


@dataclass(slots=True)
class Tally:
    """What became of the bad records of one output; `already` were done with by a former replay."""

    replayed: int = 0
    filtered: int = 0
    dropped: int = 0
    still_bad: int = 0
    already: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def bad(self, reason: str) -> None:
        """Count a record that is still bad, and why."""
        self.still_bad += 1
        known = reason in self.reasons or len(self.reasons) < MOST_REASONS
        self.reasons[reason if known else "other reasons"] += 1


@dataclass(slots=True)
class Report:
    """A replay: its outputs, what it left out, and whether it was asked to end early."""

    stream: str
    topic: str
    dry_run: bool
    outputs: dict[str, Tally]
    tables: Sequence[str] = ()
    others: int = 0
    other_topic: int = 0
    drained: bool = False


class RecordReplay:
    """Replays groups of records to the outputs of a plan, and counts in a report."""

    def __init__(
        self,
        plan: RoutePlan,
        report: Report,
        done: Mapping[str, Replayed],
        by_spark: BySpark,
    ) -> None:
        self._plan = plan
        self._report = report
        self._done = done
        self._by_spark = by_spark
        lanes = [lane_of(one, plan) for one in plan.outlets if one.name in done]
        self._by_name = {one.outlet.name: one.outlet for one in lanes}
        self._of_spark = [one.outlet for one in lanes if one.compiled is None]
        compiled = [one.compiled for one in lanes if one.compiled is not None]
        self._decode = Decoder(plan)
        self._direct = DirectOutcomes(plan, compiled)

    def group(self, group: Sequence[Kept]) -> None:
        """Evaluate, send and note some records."""
        wanted = [(kept, names) for kept in group if (names := self._wanting(kept))]
        good: list[tuple[str, Kept, Passed]] = []
        settled: list[tuple[str, Kept]] = []
        for name, kept, outcome in self._outcomes(wanted):
            tally = self._report.outputs[name]
            match outcome:
                case Passed():
                    good.append((name, kept, outcome))
                    continue
                case Filtered():
                    tally.filtered += 1
                case Failed() | Broken():
                    if self._action(outcome) != "drop":
                        tally.bad(outcome.reason)
                        continue
                    tally.dropped += 1
            settled.append((name, kept))
        self._settle(good, settled)

    def _settle(
        self, good: Sequence[tuple[str, Kept, Passed]], settled: list[tuple[str, Kept]]
    ) -> None:
        if self._report.dry_run:
            for name, _, _ in good:
                self._report.outputs[name].replayed += 1
            return
        refused = ReplaySending(self._plan, self._by_name).send(
            [(name, one) for name, _, one in good]
        )
        for index, (name, kept, _) in enumerate(good):
            if index in refused:
                self._report.outputs[name].bad(refused[index])
            else:
                self._report.outputs[name].replayed += 1
                settled.append((name, kept))
        for name, kept in settled:
            self._done[name].add(kept.place.partition, kept.place.offset)
        for name in {name for name, _ in settled}:
            self._done[name].save()

    def _wanting(self, kept: Kept) -> list[str]:
        """Return the outputs that a record failed for, and that are not done with it."""
        if kept.record.topic() != self._plan.source.topic:
            self._report.other_topic += 1
            return []
        own = kept.outputs(self._report.stream)
        names = [name for name in self._done if own in {"", name}]
        place = kept.place
        open_ = [name for name in names if not self._done[name].has(place.partition, place.offset)]
        for name in set(names) - set(open_):
            self._report.outputs[name].already += 1
        return open_

    def _outcomes(
        self, wanted: Sequence[tuple[Kept, Sequence[str]]]
    ) -> Iterator[tuple[str, Kept, Outcome | Broken]]:
        now_ms = time.time_ns() // 1_000_000
        rows = [self._decode(kept.record, now_ms) for kept, _ in wanted]
        for (kept, names), row in zip(wanted, rows, strict=True):
            found = row if isinstance(row, Broken) else self._direct(kept.record, now_ms)
            for name in names:
                if isinstance(found, Broken):
                    yield name, kept, found
                elif name in found:
                    yield name, kept, found[name]
        for outlet in self._of_spark:
            good = [
                (kept, row)
                for (kept, names), row in zip(wanted, rows, strict=True)
                if outlet.name in names and not isinstance(row, Broken)
            ]
            records = [(kept.record, row) for kept, row in good]
            outcomes = self._by_spark(self._plan, outlet, records) if records else []
            for (kept, _), outcome in zip(good, outcomes, strict=True):
                yield outlet.name, kept, outcome

    def _action(self, outcome: Failed | Broken) -> str:
        if isinstance(outcome, Broken):
            return outcome.action
        return self._plan.hygiene.on_bad_record
