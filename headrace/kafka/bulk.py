"""Sending many records fast: none of them is waited for, all of them are accounted for."""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.contract import ORIGIN
from headrace.errors import Terminal, Transient
from headrace.kafka.refusal import refusal, settings_refused
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kafka.cluster import KafkaCluster
    from headrace.records.rows import HeadersToSend

DELIVERY_LIMIT_MS: Final = 60_000
LARGEST_RECORD_BYTES: Final = 200 * 2**20
LARGEST_BATCH_BYTES: Final = 1_000_000
FLUSH_POLL_S: Final = 1.0
WAIT_S: Final = 0.1
# What the client raises where it takes no record, but for a queue that is full (BufferError).
NotTaken = KafkaException
log = structlog.get_logger(__name__)
# The broker refuses the record itself: the next try would end alike.
_REFUSED: Final = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
    }
)
_BECAUSE_OF_ANOTHER: Final = KafkaError._INVALID_DIFFERENT_RECORD  # noqa: SLF001 - its public name


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """How a producer reaches a cluster, and in what pieces; outputs with the same share one."""

    properties: tuple[tuple[str, str], ...]
    compression: str
    # Not above what the topic takes: a broker refuses a batch as a whole.
    batch_bytes: int


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record that a target does not take, or did not because of another in the same batch.

    Kafka's client tells value and key of it, and not its headers: whoever sent it has to know.
    """

    topic: str
    reason: str
    headers: HeadersToSend = ()
    value: bytes | None = None
    key: bytes | None = None
    is_innocent: bool = False


def origin_of(headers: HeadersToSend) -> tuple[int, int]:
    """Return partition and offset that a record was read from, by its last origin header."""
    for name, value in reversed(headers):
        if name == ORIGIN and value is not None:
            text = value if isinstance(value, str) else value.decode()
            _, partition, offset, _ = text.rsplit("/", 3)
            return int(partition), int(offset)
    raise Terminal("Kafka rejected a record that has no header with its origin")


class BulkProducer:
    """An idempotent producer. What it was given since the last flush is one unit of work."""

    def __init__(
        self, settings: ProducerSettings, more: Mapping[str, str | int] | None = None
    ) -> None:
        properties: dict[str, str | int | float | bool] = {
            "linger.ms": 50,
            "batch.size": settings.batch_bytes,
            "queue.buffering.max.kbytes": 64 * 1024,
            **quiet(dict(settings.properties)),
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": settings.compression,
            # As Java's clients do, so that a key's partition is the same whoever writes.
            "partitioner": "murmur2_random",
            "message.max.bytes": LARGEST_RECORD_BYTES,
            "delivery.timeout.ms": DELIVERY_LIMIT_MS,
            "delivery.report.only.error": True,
            **(more or {}),
        }
        try:
            self._producer = Producer({**properties, "on_delivery": self._on_failure})
        except KafkaException as problem:
            raise settings_refused(problem) from None
        self._settings = dict(settings.properties)
        self.produce = self._producer.produce
        self.poll = self._producer.poll
        self._refused: list[RefusedRecord] = []
        self._failure: tuple[str, KafkaError] | None = None

    def produce_patiently(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | str | None,
        headers: HeadersToSend,
        timestamp_ms: int = 0,
    ) -> None:
        """Hand over a record; wait while the client's own queue is full."""
        while True:
            try:
                self.produce(topic, value, key, headers=list(headers), timestamp=timestamp_ms)
            except BufferError:
                self.poll(WAIT_S)
                self.raise_failure()
            else:
                return

    def flush(self) -> list[RefusedRecord]:
        """Wait until all is acknowledged; return the records that a broker will not take."""
        while self._producer.flush(FLUSH_POLL_S):
            self.raise_failure()
        self.raise_failure()
        refused, self._refused = self._refused, []
        return refused

    def raise_failure(self) -> None:
        """Raise what kept a record from arriving; the producer is then of no more use."""
        if self._failure is not None:
            topic, error = self._failure
            if (refused := refusal(error, self._settings, topic=topic)) is not None:
                raise refused
            raise Transient(
                f"Kafka did not acknowledge a record: {topic}: {error.str()}",
                "records without an acknowledgement are sent again",
            )

    def _on_failure(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            return
        topic, code = message.topic() or "", error.code()
        if code in _REFUSED or code == _BECAUSE_OF_ANOTHER:
            self._refused.append(
                RefusedRecord(
                    topic,
                    error.str(),
                    value=message.value(),
                    key=message.key(),
                    is_innocent=code == _BECAUSE_OF_ANOTHER,
                )
            )
        elif self._failure is None:
            self._failure = topic, error


class Producers:
    """Producers of this process, kept between tasks; one that failed is let go."""

    def __init__(self) -> None:
        self._kept: dict[ProducerSettings, BulkProducer] = {}
        # OpenSSL's own end, in the client, stumbles over threads that still run by then.
        atexit.register(self._kept.clear)

    def get(self, settings: ProducerSettings) -> BulkProducer:
        """Return the producer of these settings."""
        if settings not in self._kept:
            self._kept[settings] = BulkProducer(settings)
        return self._kept[settings]

    def discard(self, settings: ProducerSettings) -> None:
        """Forget a producer that failed, with all that it still holds."""
        self._kept.pop(settings, None)


def not_taken(problem: KafkaException) -> Transient:
    """Return the error for a record that the client did not take."""
    return Transient(f"Kafka's client does not take a record: {problem.args[0].str()}")


def properties_of(settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return settings as a value that can be compared."""
    return tuple(sorted(settings.items()))


def producer_settings(
    kafka: KafkaCluster,
    topic: str,
    compression: str,
    created_with: Mapping[str, str] | None = None,
) -> ProducerSettings:
    """Return how to produce to a topic; it is created with these settings where it is missing."""
    if kafka.ensure_topic(topic, settings=created_with):
        log.info("created a topic", topic=topic, cluster=kafka.name)
    batch_bytes = min(LARGEST_BATCH_BYTES, kafka.largest_batch_bytes(topic))
    return ProducerSettings(properties_of(kafka.properties), compression, batch_bytes)
