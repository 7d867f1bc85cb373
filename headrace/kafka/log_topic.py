"""A topic of one partition that keeps the last record of each key, and is read as a whole."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from headrace.errors import Terminal, Transient
from headrace.kafka.log_clients import WRITE_LIMIT_S, LogClients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.kafka.cluster import KafkaCluster
    from headrace.kafka.log_clients import Isolation
    from headrace.kafka.message import Message

PARTITION: Final = 0
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
    """Reads and writes a log topic; without clients that are shared, it has its own when it needs them."""

    def __init__(
        self, properties: Mapping[str, str], topic: str, clients: LogClients | None = None
    ) -> None:
        self.topic = topic
        self._is_shared = clients is not None
        self._clients = clients or LogClients(properties)

    def read(self, start: int = 0, isolation: Isolation = "read_uncommitted") -> list[Message]:
        """Return all records from an offset on to where the topic ends now."""
        return self.read_on(start, isolation)[0]

    def read_on(self, start: int, isolation: Isolation) -> tuple[list[Message], int]:
        """Return the same, and the offset where to read on."""
        with self._clients.reader(isolation) as reader:
            held = reader.span(self.topic, PARTITION)
            span = range(max(start, held.start), held.stop)
            chunks = reader.chunks(self.topic, {PARTITION: span})
            return [message for _, messages in chunks for message in messages], held.stop

    def settled(self) -> tuple[list[Message], int]:
        """Return all that is committed, after all that was open has ended; and where to read on."""
        end = self._end("read_uncommitted")
        deadline = time.monotonic() + SETTLED_LIMIT_S
        while self._end("read_committed") < end:
            if time.monotonic() > deadline:
                raise Transient(
                    f"a transaction in topic {self.topic} stays open",
                    "its producer may hang; Kafka aborts it after its transaction.timeout.ms",
                )
            time.sleep(CHECK_EVERY_S)
        return self.read_on(0, "read_committed")

    def write(
        self, records: Sequence[tuple[str, str | None]], limit_s: float = WRITE_LIMIT_S
    ) -> list[int]:
        """Write records (key and value; None removes the key); return their offsets."""
        return self._clients.write(self.topic, PARTITION, records, limit_s)

    def close(self) -> None:
        """Let go of the connections that are its own."""
        if not self._is_shared:
            self._clients.close()

    def _end(self, isolation: Isolation) -> int:
        with self._clients.reader(isolation) as reader:
            return reader.span(self.topic, PARTITION).stop
