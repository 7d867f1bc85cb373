"""A key goes to the partition that Java's clients, Spark and the router choose for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.workspace.workspace import Cluster
from headrace.kafka.sender import KafkaRecord, Sender
from headrace.secret import Secret

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

PARTITIONS = 4
# From Kafka's own test of its murmur2.
HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"abc": 479470107,
}


class Seen(Sender):
    """Knows where the cluster of Kafka's client itself has put the records."""

    def __init__(self) -> None:
        own = {"test.mock.num.brokers": Secret("1")}
        super().__init__(Cluster("mock", "127.0.0.1:1", None, own), "t")
        self.found: dict[bytes | None, int | None] = {}

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        super()._on_delivery(error, message)
        self.found[message.key()] = message.partition()


def test_a_key_goes_to_the_same_partition_whoever_writes() -> None:
    sender = Seen()
    for key in HASHES:
        sender.send(KafkaRecord(b"v", key))
    assert sender.close() == len(HASHES)
    assert sender.found == {
        key: (number & 0x7FFFFFFF) % PARTITIONS for key, number in HASHES.items()
    }
