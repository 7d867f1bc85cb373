"""The limit of a router through librdkafka in Python: nothing is parsed, half is written on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Producer

from benchmarks.peers.per_core import PRODUCER, run

if TYPE_CHECKING:
    from benchmarks.peers.per_core import Share

# As long as the five kept fields of an event are in JSON.
KEPT_BYTES = 136
# As the loop that parses waits.
ROOM_S = 0.01


def copy(share: Share) -> int:
    """Copy the start of every other record of a share."""
    producer = Producer({"bootstrap.servers": share.settings["bootstrap_servers"], **PRODUCER})
    target = share.settings["target"]
    written = 0
    for messages in share.chunks():
        for message in messages[::2]:
            value = message.value() or b""
            _produce(producer, target, value[:KEPT_BYTES], message.key())
            written += 1
        producer.poll(0)
    producer.flush()
    return written


def _produce(producer: Producer, topic: str, value: bytes, key: bytes | None) -> None:
    """Hand a record over; wait while the client's own queue is full."""
    while True:
        try:
            producer.produce(topic, value, key)
        except BufferError:
            producer.poll(ROOM_S)
        else:
            return


if __name__ == "__main__":
    run(copy)
