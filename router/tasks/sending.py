"""The second half of a task: what goes out, what is kept back, and that all of it arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.contract import QUARANTINE
from headrace.errors import Terminal, Transient
from headrace.kafka.bulk import BulkProducer, Producers, origin_of
from headrace.kafka.message import position_of
from headrace.kafka.quarantine import READING, WRITING, Quarantine, stops_at
from headrace.kafka.ranges import Readers
from headrace.kafka.transactions import TransactionalProducer
from router.ledger.entries import Counts
from router.ledger.places import ReadTopic, place_key, place_value
from router.plan.model import ToSearch, ToTopic
from router.tasks.search import SearchProducer
from router.tasks.sent_lines import without_queue
from router.tasks.transactions import Transactions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headrace.kafka.bulk import RefusedRecord
    from headrace.kafka.message import Message
    from headrace.kafka.ranges import RangeReader
    from headrace.records.hygiene.rules import Broken, OnBadRecord
    from headrace.records.rows import HeadersToSend
    from router.ledger.places import Place
    from router.plan.model import Outlet, RoutePlan
    from router.tasks.sent_lines import Send

    # Topic, value and key.
    Sent: TypeAlias = tuple[str, bytes | None, bytes | None]
    Refused: TypeAlias = Sequence[RefusedRecord]
    Find: TypeAlias = Callable[[Refused], Iterable[tuple[RefusedRecord, "SentRecord"]]]

# Spark's Python workers live on between tasks, and so do connections.
readers: Final = Readers()
_producers: Final = Producers()
_transactions: Final = Transactions()


@dataclass(frozen=True, slots=True)
class SentRecord:
    """What a client does not tell of a record that was sent: what it was made from, its headers."""

    partition: int
    offset: int
    headers: HeadersToSend


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that an output's target does not take, and why."""

    output: str
    partition: int
    offset: int
    reason: str


class Sending:
    """The targets of some outputs, what they were given, and what became of the rest."""

    def __init__(self, plan: RoutePlan, names: Iterable[str]) -> None:
        self.plan = plan
        self.counts: dict[str, dict[int, Counts]] = {name: {} for name in names}
        self.outlets = {one.name: one for one in plan.outlets if one.name in self.counts}
        self.producers = {name: _producer(one) for name, one in self.outlets.items()}
        self._quarantine: Quarantine | None = None
        if plan.quarantine is not None:
            self._quarantine = Quarantine(_kept(plan.quarantine), plan.quarantine.topic)

    def begin(self) -> None:
        """Begin the transactions of a task."""
        for producer in self._transactional:
            producer.begin()

    def commit(self, places: Mapping[str, Mapping[int, Place]]) -> None:
        """Commit what was sent together with the places behind it, the quarantine's first."""
        for producer in self._transactional:
            for member in self.counts:
                if self._producer_of(member) is producer:
                    self._send_places(producer, member, places.get(member, {}))
            producer.flush()
            producer.commit()

    @property
    def _transactional(self) -> list[TransactionalProducer]:
        kept = [] if self._quarantine is None else [self._quarantine.producer]
        every = dict.fromkeys([*kept, *self.producers.values()])
        return [one for one in every if isinstance(one, TransactionalProducer)]

    def _producer_of(self, member: str) -> BulkProducer | SearchProducer | None:
        if member == QUARANTINE:
            return None if self._quarantine is None else self._quarantine.producer
        return self.producers[member]

    def _send_places(
        self, producer: TransactionalProducer, member: str, places: Mapping[int, Place]
    ) -> None:
        target = self.plan.quarantine if member == QUARANTINE else self.outlets[member].target
        if not isinstance(target, ToTopic) or target.claim is None:
            return
        source = self.plan.source
        topic = ReadTopic(source.cluster, source.topic, target.claim.topic_id)
        for number, place in places.items():
            counted = place.counted(self.counts[member].get(number, Counts()))
            key = place_key(self.plan.held_as(member), topic.topic_id, number)
            value = place_value(topic, number, counted)
            producer.produce_patiently(target.claim.ledger, value.encode(), key, ())

    def sends(self, name: str) -> tuple[Callable[..., None], Send]:
        """Return what a route sends the records of an output with."""
        producer = self.producers[name]
        if isinstance(producer, BulkProducer):
            return producer.produce, producer.produce_patiently
        return without_queue(producer.produce_patiently)

    def poll(self) -> None:
        """Hear of what has arrived so far, and raise what has not."""
        for producer in set(self.producers.values()):
            producer.poll(0)
            producer.raise_failure()

    def give_up(self) -> None:
        """Let go of producers that hold records of a batch that will be repeated."""
        targets = [one.target for one in self.outlets.values()]
        for target in (*targets, self.plan.quarantine):
            if isinstance(target, ToTopic) and target.producer is not None:
                if target.claim is None:
                    _producers.discard(target.producer)
                else:
                    _transactions.discard(target.producer, target.claim)

    def count(self, name: str, number: int, counts: Counts) -> None:
        """Add to what is known of an output and a partition."""
        known = self.counts[name]
        known[number] = known[number] + counts if number in known else counts

    def bad(self, bad: Sequence[tuple[Message, Broken]], *, keep: bool) -> Counts:
        """Do with bad records as the rules say that they broke; `keep` sends to quarantine."""
        counts = Counts()
        for message, broken in bad:
            one = self.rejected(message, broken.action, broken.kind, broken.reason)
            if one.quarantined and keep:
                self.keep(message, READING, broken.reason, self.plan.stream)
            counts += one
        return counts

    def rejected(self, message: Message, action: OnBadRecord, kind: str, reason: str) -> Counts:
        """Return what becomes of one bad record; a stream may want to stop at it."""
        if action == "fail":
            raise stops_at(f"stream {self.plan.stream}", position_of(message), reason)
        return Counts(dropped={kind: 1}) if action == "drop" else Counts(quarantined=1)

    def keep(self, message: Message, stage: str, reason: str, connector: str) -> None:
        """Send a record to the quarantine."""
        if self._quarantine is None:
            raise Terminal(
                f"stream {self.plan.stream} has a rejected record, but no quarantine topic"
            )
        self._quarantine.add(message, stage, reason, connector)

    def settle(self, reader: RangeReader, find: Find) -> list[Refusal]:
        """Wait until all has arrived; return what refuses to arrive within a transaction.

        Nothing of the task counts then: it has to be done again without these records. What another
        target refuses for good is quarantined. `find` gives what refused records were made from and
        sent with, where they do not say.
        """
        broken = self._flushed(transactional=True)
        if broken:
            found = self._found([one for one in broken if not one.is_innocent], find)
            return [
                Refusal(self._sent_to(one), sent.partition, sent.offset, one.reason)
                for one, sent in found
            ]
        while refused := self._flushed(transactional=False):
            self._refused(self._found(refused, find), reader)
        if self._quarantine is not None:
            for one in self._quarantine.producer.flush():
                raise self._quarantine.refused(one.reason)
        return []

    def _found(
        self, refused: Sequence[RefusedRecord], find: Find
    ) -> list[tuple[RefusedRecord, SentRecord]]:
        unknown = [one for one in refused if not one.headers]
        found = list(find(unknown)) if unknown else []
        if len(found) != len(unknown):
            raise Transient(
                f"Kafka rejected a record that could not be found again: {unknown[0].reason}"
            )
        known = [
            (one, SentRecord(*origin_of(one.headers), one.headers))
            for one in refused
            if one.headers
        ]
        return [*found, *known]

    def _flushed(self, *, transactional: bool) -> list[RefusedRecord]:
        """Return what outputs' targets refuse; what the quarantine does ends the stream."""
        producers = [
            one
            for one in dict.fromkeys(self.producers.values())
            if isinstance(one, TransactionalProducer) == transactional
        ]
        refused = [one for each in producers for one in each.flush()]
        if self._quarantine is not None:
            for one in refused:
                if one.topic == self._quarantine.topic:
                    raise self._quarantine.refused(one.reason)
        return refused

    def _refused(
        self, refused: Sequence[tuple[RefusedRecord, SentRecord]], reader: RangeReader
    ) -> None:
        """Send again what is innocent; read the rest once more, all of it at once."""
        rejected: dict[tuple[int, int], list[RefusedRecord]] = {}
        for one, sent in refused:
            if one.is_innocent:
                producer = self.producers[self._sent_to(one)]
                producer.produce_patiently(one.topic, one.value, one.key, sent.headers)
            else:
                rejected.setdefault((sent.partition, sent.offset), []).append(one)
        for message in reader.some(self.plan.source.topic, rejected):
            for one in rejected[message.partition(), message.offset()]:
                self._set_aside(message, one)

    def _set_aside(self, message: Message, refused: RefusedRecord) -> None:
        name = self._sent_to(refused)
        counts = self.refused(name, message, refused.reason)
        self.count(name, message.partition(), counts + Counts(written=-1))

    def refused(self, name: str, message: Message, reason: str) -> Counts:
        """Do with a record that an output's target does not take as with other bad ones."""
        counts = self.rejected(message, self.plan.hygiene.on_bad_record, "refused", reason)
        if counts.quarantined:
            self.keep(message, WRITING, reason, f"{self.plan.stream}.{name}")
        return counts

    def _sent_to(self, refused: RefusedRecord) -> str:
        return next(name for name, one in self.outlets.items() if one.sent_to == refused.topic)


def by_what_was_sent(refused: Sequence[RefusedRecord]) -> dict[Sent, list[RefusedRecord]]:
    """Return refused records by what was sent; twice the same is there twice."""
    known: dict[Sent, list[RefusedRecord]] = {}
    for one in refused:
        known.setdefault((one.topic, one.value, one.key), []).append(one)
    return known


def sent_as(topic: str, value: bytes | str | None, key: bytes | str | None) -> Sent:
    """Return what was sent, as the client tells of it."""
    return (topic, as_bytes(value), as_bytes(key))


def as_bytes(value: bytes | str | None) -> bytes | None:
    """Return what the client makes of it: text is sent as UTF-8."""
    return value.encode() if isinstance(value, str) else value


def reason_of(problem: Exception) -> str:
    """Return what is wrong with a record on which this came up."""
    return str(problem) or type(problem).__name__


def _producer(outlet: Outlet) -> BulkProducer | SearchProducer:
    if isinstance(outlet.target, ToTopic):
        return _kept(outlet.target)
    if isinstance(outlet.target, ToSearch):
        return SearchProducer(outlet.target)
    raise Terminal(f"tasks of this kind do not write output {outlet.name}")


def _kept(target: ToTopic) -> BulkProducer:
    if target.producer is None:
        raise Terminal(f"topic {target.topic} has no producer settings")
    if target.claim is not None:
        return _transactions.get(target.producer, target.claim)
    return _producers.get(target.producer)
