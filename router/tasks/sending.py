"""The second half of a task: what goes out, what is kept back, and that all of it arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headrace.errors import Terminal, Transient
from headrace.kafka.bulk import BulkProducer, Producers, origin_of
from headrace.kafka.quarantine import READING, WRITING, Quarantine
from headrace.kafka.ranges import Readers
from router.ledger import Counts
from router.plan import ToSearch, ToTopic
from router.search import SearchProducer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headrace.config.hygiene import OnBadRecord
    from headrace.kafka.bulk import Refused
    from headrace.kafka.ranges import RangeReader
    from headrace.records.hygiene import Broken
    from headrace.records.rows import HeadersToSend
    from router.plan import Outlet, RoutePlan

    # Topic, value and key.
    Sent: TypeAlias = tuple[str, bytes | None, bytes | None]
    Find: TypeAlias = Callable[[Sequence[Refused]], Iterable[tuple[Refused, HeadersToSend]]]

# A message of the client, whose package only headrace.kafka imports.
Message: TypeAlias = Any

# Spark's Python workers live on between tasks, and so do connections.
readers: Final = Readers()
_producers: Final = Producers()


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

    def poll(self) -> None:
        """Hear of what has arrived so far, and raise what has not."""
        for producer in set(self.producers.values()):
            producer.poll(0)
            producer.raise_failure()

    def give_up(self) -> None:
        """Let go of producers that hold records of a batch that will be done again."""
        targets = [one.target for one in self.outlets.values()]
        for target in (*targets, self.plan.quarantine):
            if isinstance(target, ToTopic) and target.way is not None:
                _producers.discard(target.way)

    def count(self, name: str, number: int, counts: Counts) -> None:
        """Add to what is known of an output and a partition."""
        known = self.counts[name]
        known[number] = known[number] + counts if number in known else counts

    def bad(self, bad: Sequence[tuple[Message, Broken]], *, keep: bool) -> Counts:
        """Do with bad records as the rules say that they broke; `keep` sends to quarantine."""
        counts = Counts()
        for message, broken in bad:
            one = self.as_told(message, broken.action, broken.kind, broken.reason)
            if one.quarantined and keep:
                self.keep(message, READING, broken.reason, self.plan.stream)
            counts += one
        return counts

    def as_told(self, message: Message, action: OnBadRecord, kind: str, reason: str) -> Counts:
        """Return what becomes of one bad record; a stream may want to stop at it."""
        if action == "fail":
            place = f"{message.topic()}-{message.partition()} @ {message.offset()}"
            raise stops_at(self.plan.stream, place, reason)
        return Counts(dropped={kind: 1}) if action == "drop" else Counts(quarantined=1)

    def keep(self, message: Message, stage: str, reason: str, connector: str) -> None:
        """Send a record to the quarantine."""
        if self._quarantine is None:
            raise Terminal(f"stream {self.plan.stream} has a bad record and no quarantine")
        self._quarantine.add(message, stage, reason, connector)

    def flush(self, reader: RangeReader, find: Find) -> None:
        """Wait for all acknowledgements; what a target refuses for good is quarantined.

        `find` gives the headers that refused records were sent with, where they do not say.
        """
        while refused := self._flushed():
            unknown = [one for one in refused if not one.headers]
            found = list(find(unknown)) if unknown else []
            if len(found) != len(unknown):
                raise Transient(f"a record was refused and not found again: {unknown[0].reason}")
            for one, headers in found:
                self._refused(one, headers, reader)
            for one in refused:
                if one.headers:
                    self._refused(one, one.headers, reader)
        if self._quarantine is not None:
            for one in self._quarantine.producer.flush():
                raise self._quarantine.refused(one.reason)

    def _flushed(self) -> list[Refused]:
        refused = [one for each in set(self.producers.values()) for one in each.flush()]
        if self._quarantine is not None:
            for one in refused:
                if one.topic == self._quarantine.topic:
                    raise self._quarantine.refused(one.reason)
        return refused

    def _refused(self, refused: Refused, headers: HeadersToSend, reader: RangeReader) -> None:
        name = next(name for name, one in self.outlets.items() if one.sent_to == refused.topic)
        if refused.is_innocent:
            producer = self.producers[name]
            producer.produce_patiently(refused.topic, refused.value, refused.key, headers)
            return
        partition, offset = origin_of(headers)
        message = reader.one(self.plan.source.topic, partition, offset)
        action = self.plan.hygiene.on_bad_record
        one = self.as_told(message, action, "refused", refused.reason)
        if one.quarantined:
            self.keep(message, WRITING, refused.reason, f"{self.plan.stream}.{name}")
        self.count(name, partition, one + Counts(written=-1))


def places_of(refused: Sequence[Refused]) -> dict[Sent, list[Refused]]:
    """Return refused records by what was sent; twice the same is there twice."""
    known: dict[Sent, list[Refused]] = {}
    for one in refused:
        known.setdefault((one.topic, one.value, one.key), []).append(one)
    return known


def sent_as(topic: str, value: bytes | str | None, key: bytes | str | None) -> Sent:
    """Return what was sent, as the client tells of it."""
    return (topic, _bytes(value), _bytes(key))


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def stops_at(stream: str, place: str, reason: str) -> Terminal:
    """Return the error for a bad record that the stream wants to stop at."""
    return Terminal(
        f"stream {stream} stops at a bad record: {place}: {reason}",
        "mend or skip it, or choose on_bad_record: quarantine",
    )


def _producer(outlet: Outlet) -> BulkProducer | SearchProducer:
    if isinstance(outlet.target, ToTopic):
        return _kept(outlet.target)
    if isinstance(outlet.target, ToSearch):
        return SearchProducer(outlet.target)
    raise Terminal(f"output {outlet.name} is not written by tasks of this kind")


def _kept(target: ToTopic) -> BulkProducer:
    if target.way is None:
        raise Terminal(f"how to reach topic {target.topic} was not looked up")
    return _producers.get(target.way)
