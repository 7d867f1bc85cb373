"""A topic of one partition that keeps the last record of each key, and is read as a whole."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Literal

from confluent_kafka import KafkaException, Producer

from headrace.errors import Terminal, Transient
from headrace.kafka.ranges import RangeReader
from headrace.kafka.refusal import refusal, settings_refused
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confluent_kafka import KafkaError
    from confluent_kafka import Message as ClientMessage

    from headrace.kafka.cluster import KafkaCluster
    from headrace.kafka.message import Message

    Isolation = Literal["read_committed", "read_uncommitted"]

PARTITION: Final = 0
WRITE_LIMIT_S: Final = 60.0
SETTLED_LIMIT_S: Final = 320.0
CHECK_EVERY_S: Final = 0.02
SETTINGS: Final = {
    "cleanup.policy": "compact",
    # Times are the broker's: hosts compare them.
    "message.timestamp.type": "LogAppendTime",
    # Small pieces, early compacted: who starts reads all that is left.
    "segment.bytes": str(8 * 2**20),
    "min.cleanable.dirty.ratio": "0.2",
}


def ensure_log_topic(kafka: KafkaCluster, topic: str) -> None:
    """Create a log topic where it is missing; refuse one in which records do not stay."""
    if kafka.ensure_topic(topic, 1, SETTINGS):
        return
    policy = kafka.settings(topic)["cleanup.policy"]
    if "delete" in policy:
        raise Terminal(
            f"topic {topic} of cluster {kafka.name} has cleanup.policy {policy}: its records would "
            "not stay",
            "set it to compact (kafka-configs --alter --add-config cleanup.policy=compact)",
        )


class LogTopic:
    """Reads and writes a log topic; its clients are made when they are needed."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        self.topic = topic
        self._properties = dict(properties)
        self._readers: dict[Isolation, RangeReader] = {}
        self._producer: Producer | None = None

    def read(self, start: int = 0, isolation: Isolation = "read_uncommitted") -> list[Message]:
        """Return all records from an offset on to where the topic ends now."""
        reader = self._reader(isolation)
        held = self._span(reader)
        span = range(max(start, held.start), held.stop)
        chunks = reader.chunks(self.topic, {PARTITION: span})
        return [message for _, messages in chunks for message in messages]

    def settled(self) -> list[Message]:
        """Return all that is committed, after all that was open has ended."""
        end = self._span(self._reader("read_uncommitted")).stop
        deadline = time.monotonic() + SETTLED_LIMIT_S
        while self._span(self._reader("read_committed")).stop < end:
            if time.monotonic() > deadline:
                raise Transient(
                    f"a transaction in topic {self.topic} stays open",
                    "its producer may hang; Kafka aborts it after its transaction.timeout.ms",
                )
            time.sleep(CHECK_EVERY_S)
        return self.read(isolation="read_committed")

    def write(
        self, records: Sequence[tuple[str, str | None]], limit_s: float = WRITE_LIMIT_S
    ) -> list[int]:
        """Write records (key and value; None removes the key); return their offsets."""
        written: list[int] = []
        failed: list[KafkaError] = []

        def arrived(error: KafkaError | None, message: ClientMessage) -> None:
            if error is None:
                written.append(message.offset() or 0)
            else:
                failed.append(error)

        producer = self._writer()
        for key, value in records:
            producer.produce(self.topic, value, key, partition=PARTITION, on_delivery=arrived)
        producer.flush(limit_s)
        if failed or len(written) < len(records):
            if failed and (refused := refusal(failed[0], self._properties, topic=self.topic)):
                raise refused
            reason = failed[0].str() if failed else "no acknowledgement"
            raise Transient(f"a record did not reach {self.topic}: {reason}")
        return written

    def close(self) -> None:
        """Let go of the connections."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()
        self._producer = None

    def _span(self, reader: RangeReader) -> range:
        return reader.span(self.topic, PARTITION)

    def _reader(self, isolation: Isolation) -> RangeReader:
        if isolation not in self._readers:
            self._readers[isolation] = RangeReader(self._properties, isolation)
        return self._readers[isolation]

    def _writer(self) -> Producer:
        if self._producer is None:
            settings = {
                **quiet(self._properties),
                "acks": "all",
                "linger.ms": 0,
                # In order; twice the same record is one in a log of keys. An idempotent producer
                # waits half a second for its id before its first record.
                "enable.idempotence": False,
                "max.in.flight.requests.per.connection": 1,
            }
            try:
                self._producer = Producer(settings)
            except KafkaException as problem:
                raise settings_refused(problem) from None
        return self._producer
