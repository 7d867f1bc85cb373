"""Bad records into the quarantine: byte for byte, their time kept, the reason in headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace import contract
from headrace.errors import Terminal
from headrace.kafka.bulk import producer_settings
from headrace.kafka.message import position_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.kafka.bulk import BulkProducer, Producers, ProducerSettings
    from headrace.kafka.cluster import KafkaCluster
    from headrace.kafka.message import Message, RecordPosition
    from headrace.records.hygiene.rules import Broken
    from headrace.records.rows import Headers

# Connect's names for where in a record's way it turned out to be bad.
READING: Final = "VALUE_CONVERTER"
EVALUATING: Final = "TRANSFORMATION"
WRITING: Final = "TASK_PUT"
EXCEPTION_CLASS: Final = "headrace.BadRecord"
# A record that only just fitted into the source gets headers, and has to fit again.
MARGIN_BYTES: Final = 64 * 1024
# Kafka's client sends 0 as «now»: a record of 1970's first millisecond is given the next one.
LEAST_MS: Final = 1
# How far from its clock a broker lets a record's time be; older ones have no such settings.
TIMESTAMP_BOUNDS: Final = (
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
)
# A reason may quote what a foreign schema calls its types, and must not outgrow the margin.
MOST_CHARACTERS: Final = 2_000


class Quarantine:
    """The quarantine topic of a stream."""

    def __init__(self, producer: BulkProducer, topic: str) -> None:
        self.producer = producer
        self.topic = topic

    def add(self, message: Message, stage: str, reason: str, connector: str) -> None:
        """Send a record as it came; the flush of its producer tells whether it arrived."""
        own = message.headers() or []
        headers = [*own, *headers_of_bad(message, stage, reason, connector)]
        _, timestamp_ms = message.timestamp()
        self.producer.produce_patiently(
            self.topic, message.value(), message.key(), headers, timestamp_ms or LEAST_MS
        )

    def refused(self, reason: str) -> Terminal:
        """Return the error for a bad record that the quarantine itself does not take."""
        return Terminal(
            f"the quarantine topic {self.topic} rejects a record: {reason}",
            f"set its max.message.bytes, {' and '.join(TIMESTAMP_BOUNDS)} as on the source topic",
        )


class BadRecords:
    """Does with a task's bad records as the rules say that they broke: stop, drop or quarantine."""

    def __init__(
        self,
        reader: str,
        connector: str,
        target: tuple[str, ProducerSettings] | None,
        producers: Producers,
    ) -> None:
        self.quarantined = self.dropped = 0
        self._reader, self._connector = reader, connector
        self._target, self._producers = target, producers
        self._quarantine: Quarantine | None = None

    def reject(self, bad: Sequence[tuple[Message, Broken]]) -> None:
        """Take in bad records, or raise the Terminal of the first that is to stop the reader."""
        for message, broken in bad:
            if broken.action == "fail":
                raise stops_at(self._reader, position_of(message), broken.reason)
            if broken.action == "drop" or self._target is None:
                self.dropped += 1
            else:
                self.quarantined += 1
                self.quarantine(message, broken.reason)

    def quarantine(self, message: Message, reason: str) -> None:
        """Quarantine a record that somebody else counts."""
        if self._target is None:
            raise Terminal(f"{self._reader} has a rejected record, but no quarantine topic")
        if self._quarantine is None:
            topic, settings = self._target
            self._quarantine = Quarantine(self._producers.get(settings), topic)
        self._quarantine.add(message, READING, reason, self._connector)

    def flush(self) -> None:
        """Wait until the quarantine has them."""
        if self._quarantine is not None:
            for one in self._quarantine.producer.flush():
                raise self._quarantine.refused(one.reason)

    def discard(self) -> None:
        """Let go of a producer that may hold records of a batch that will be repeated."""
        if self._target is not None:
            self._producers.discard(self._target[1])


def stops_at(reader: str, position: RecordPosition, reason: str) -> Terminal:
    """Return the error for a bad record that a reader is to stop at."""
    return Terminal(
        f"{reader} stops at a rejected record: {position}: {reason}",
        "correct or skip the record, or choose on_bad_record: quarantine",
    )


def quarantine_settings(
    kafka: KafkaCluster, topic: str, source: Mapping[str, str]
) -> ProducerSettings:
    """Return how to produce to a quarantine topic; it is created where it is missing.

    `source` are the settings of the topic whose bad records it is for: it takes what that took,
    with more headers.
    """
    room = int(source["max.message.bytes"]) + MARGIN_BYTES
    bounds = {name: source[name] for name in TIMESTAMP_BOUNDS if name in source}
    taken = {"max.message.bytes": str(room), "message.timestamp.type": "CreateTime", **bounds}
    # What only just fitted into the source may have been compressed as well as can be.
    return producer_settings(kafka, topic, "zstd", taken)


def headers_of_bad(message: Message, stage: str, reason: str, connector: str) -> Headers:
    """Return what Connect's headers say of a bad record."""
    texts = (
        (contract.QUARANTINE_TOPIC, message.topic()),
        (contract.QUARANTINE_PARTITION, str(message.partition())),
        (contract.QUARANTINE_OFFSET, str(message.offset())),
        (contract.QUARANTINE_CONNECTOR, connector),
        (contract.QUARANTINE_STAGE, stage),
        (contract.QUARANTINE_EXCEPTION_CLASS, EXCEPTION_CLASS),
        (contract.QUARANTINE_EXCEPTION_MESSAGE, reason),
    )
    return [(name, text[:MOST_CHARACTERS].encode(errors="replace")) for name, text in texts]
