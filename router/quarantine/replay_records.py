"""Records of a quarantine, evaluated, sent and noted, a group at a time."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace import state_files
from headrace.errors import Terminal
from headrace.kafka.offset_set import OffsetSet
from headrace.records.hygiene.rules import Broken
from router.explain.outcomes import Filtered, Passed
from router.quarantine.records import count_reason
from router.tasks.sending import Sending, sent_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from router.explain.outcomes import Evaluator
    from router.plan.model import RoutePlan
    from router.quarantine.records import QuarantinedRecord
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
        own = kept.outputs(self.report.stream)
        names = [name for name in self.done if own in {"", name}]
        at = kept.position
        open_ = [name for name in names if not self.done[name].has(at.partition, at.offset)]
        for name in set(names) - set(open_):
            self.report.outputs[name].already += 1
        return open_


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


class Replayed:
    """What of a quarantine topic an output has been given, or rightly not been given."""

    def __init__(self, path: Path, topic_id: str) -> None:
        self._path = path
        self._topic_id = topic_id
        self._done: dict[int, OffsetSet] = {}
        if path.exists():
            self._load()

    def has(self, partition: int, offset: int) -> bool:
        """Whether a record is done with."""
        return partition in self._done and offset in self._done[partition]

    def add(self, partition: int, offset: int) -> None:
        """Note that a record is done with; `save` makes it last."""
        self._done.setdefault(partition, OffsetSet()).add(range(offset, offset + 1))

    def save(self) -> None:
        """Write it down; when this returns, no crash can take it back."""
        done = {
            str(number): [[run.start, run.stop] for run in offsets]
            for number, offsets in sorted(self._done.items())
        }
        text = json.dumps({"topic_id": self._topic_id, "done": done})
        state_files.write(self._path, text.encode())

    def _load(self) -> None:
        try:
            whole: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            runs = {
                int(number): OffsetSet(*(range(*one) for one in spans))
                for number, spans in whole["done"].items()
            }
            topic_id = whole["topic_id"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Terminal(
                f"{self._path} is damaged: it does not say what was replayed",
                "remove it; then all records in the quarantine are replayed again",
            ) from None
        # A quarantine that was re-created holds other records under the same offsets.
        if topic_id == self._topic_id:
            self._done = runs
