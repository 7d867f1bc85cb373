"""Records of a quarantine, evaluated, sent and noted, a group at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.records.hygiene.rules import Broken
from router.explain.outcomes import Filtered, Passed
from router.quarantine.records import count_reason
from router.quarantine.replayed import parted
from router.tasks.sending import Sending, sent_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from router.explain.outcomes import Evaluator
    from router.plan.model import RoutePlan
    from router.quarantine.records import QuarantinedRecord
    from router.quarantine.replayed import Replayed
    from router.tasks.sending import Sent


@dataclass(slots=True)
class ReplayTally:
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
        count_reason(self.reasons, reason, "other reasons")


@dataclass(slots=True)
class ReplayReport:
    """A replay: its outputs, what it left out, and whether it was asked to end early."""

    stream: str
    topic: str
    dry_run: bool
    outputs: dict[str, ReplayTally]
    tables: Sequence[str] = ()
    others: int = 0
    other_topic: int = 0
    drained: bool = False


@dataclass(frozen=True, slots=True)
class RecordReplay:
    """Replays groups of records to the outputs of a plan, and counts in a report."""

    plan: RoutePlan
    report: ReplayReport
    done: Mapping[str, Replayed]
    evaluate: Evaluator

    def replay(self, group: Sequence[QuarantinedRecord]) -> None:
        """Evaluate, send and note some records."""
        wanted = [(kept, names) for kept in group if (names := self._wanting(kept))]
        evaluated = self.evaluate([(kept.record, names) for kept, names in wanted])
        good: list[tuple[str, QuarantinedRecord, Passed]] = []
        settled: list[tuple[str, QuarantinedRecord]] = []
        for (kept, names), one in zip(wanted, evaluated, strict=True):
            for name in names:
                outcome = one.broken or one.outcomes[name]
                tally = self.report.outputs[name]
                match outcome:
                    case Passed():
                        good.append((name, kept, outcome))
                        continue
                    case Filtered():
                        tally.filtered += 1
                    case Broken(action="drop"):
                        tally.dropped += 1
                    case Broken():
                        tally.bad(outcome.reason)
                        continue
                settled.append((name, kept))
        self._settle(good, settled)

    def _settle(
        self,
        good: Sequence[tuple[str, QuarantinedRecord, Passed]],
        settled: list[tuple[str, QuarantinedRecord]],
    ) -> None:
        is_sent = not self.report.dry_run
        refused = _send(self.plan, self.done, good) if is_sent else {}
        for index, (name, kept, _) in enumerate(good):
            if index in refused:
                self.report.outputs[name].bad(refused[index])
            else:
                self.report.outputs[name].replayed += 1
                settled.append((name, kept))
        if not is_sent:
            return
        for name, kept in settled:
            self.done[name].add(kept.position.partition, kept.position.offset)
        for name in {name for name, _ in settled}:
            self.done[name].save()

    def _wanting(self, kept: QuarantinedRecord) -> list[str]:
        """Return the outputs that a record failed for, and that are not done with it."""
        if kept.record.topic() != self.plan.source.topic:
            self.report.other_topic += 1
            return []
        waiting, settled = parted(kept, self.report.stream, self.done)
        for name in settled:
            self.report.outputs[name].already += 1
        return waiting


def _send(
    plan: RoutePlan, names: Iterable[str], records: Sequence[tuple[str, QuarantinedRecord, Passed]]
) -> dict[int, str]:
    """Send records to outputs; return which of them were refused, and why."""
    sending = Sending(plan, names)
    try:
        return _acknowledged(sending, records)
    except BaseException:
        sending.give_up()
        raise


def _acknowledged(
    sending: Sending, records: Sequence[tuple[str, QuarantinedRecord, Passed]]
) -> dict[int, str]:
    def produce(index: int) -> str:
        name, _, one = records[index]
        topic = sending.outlets[name].sent_to
        sending.producers[name].produce_patiently(topic, one.value, one.key, one.headers)
        return topic

    sent: dict[Sent, list[int]] = {}
    for index, (_, _, one) in enumerate(records):
        sent.setdefault(sent_as(produce(index), one.value, one.key), []).append(index)
    sending.poll()
    refused: dict[int, str] = {}
    producers = set(sending.producers.values())
    while rejected := [one for producer in producers for one in producer.flush()]:
        again: list[int] = []
        for no in rejected:
            indices = sent[no.topic, no.value, no.key]
            # Of records that are the same to the last byte it is all the same which.
            index = indices.pop()
            if no.is_innocent:
                indices.insert(0, index)
                again.append(index)
            else:
                refused[index] = no.reason
        for index in again:
            produce(index)
    return refused
