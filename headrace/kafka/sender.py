"""Sending records to a topic, each of them acknowledged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.errors import Terminal, Transient
from headrace.kafka.refusal import refusal
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.config.workspace.workspace import Cluster

FLUSH_POLL_S = 0.5
# What librdkafka takes for «set it yourself».
NOW = 0
BY_KEY = -1


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A record as it is sent: bytes, and what travels beside them."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = field(default=())
    timestamp_ms: int | None = None
    partition: int = BY_KEY


class Sender:
    """Sends records to one topic and knows, at the end, that each of them arrived."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._topic = topic
        self._cluster = cluster
        self._producer = Producer(
            {
                # As Java's clients do, so that a key's partition is the same whoever writes.
                "partitioner": "murmur2_random",
                **quiet(cluster.client_properties()),
                "enable.idempotence": True,
                "linger.ms": 20,
                "compression.type": "lz4",
            }
        )
        self.delivered = 0
        self._first_failure: KafkaError | None = None

    def send(self, record: KafkaRecord) -> None:
        """Hand over one record; waits while the client's own queue is full."""
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    record.value,
                    record.key,
                    partition=record.partition,
                    on_delivery=self._on_delivery,
                    timestamp=NOW if record.timestamp_ms is None else record.timestamp_ms,
                    headers=list(record.headers),
                )
            except BufferError:
                self._producer.poll(FLUSH_POLL_S)
                continue
            except KafkaException as problem:
                raise Terminal(
                    f"a record for {self._topic} was rejected: {problem.args[0].str()}"
                ) from None
            break
        self._producer.poll(0)
        self._raise_failure()

    def close(self) -> int:
        """Wait for every record's acknowledgement; returns how many arrived."""
        while self._producer.flush(FLUSH_POLL_S):
            self._raise_failure()
        self._raise_failure()
        return self.delivered

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self.delivered += 1
        elif self._first_failure is None:
            self._first_failure = error

    def _raise_failure(self) -> None:
        if self._first_failure is not None:
            refused = refusal(
                self._first_failure,
                self._cluster.client_properties(),
                self._cluster.name,
                self._topic,
            )
            if refused is not None:
                raise refused
            raise Transient(
                f"a record did not reach {self._topic}: {self._first_failure.str()};"
                f" {self.delivered} arrived before"
            )
