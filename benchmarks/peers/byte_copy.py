"""The limit of a router through librdkafka in Python: nothing is parsed, half is written on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Producer

from benchmarks.peers.kafka_loop import PRODUCER, produce
from benchmarks.peers.per_core import run

if TYPE_CHECKING:
    from benchmarks.peers.per_core import Share

# As long as the five kept fields of an event are in JSON.
KEPT_BYTES = 136


def copy(share: Share) -> int:
    """Copy the start of every other record of a share."""
    producer = Producer({"bootstrap.servers": share.settings["bootstrap_servers"], **PRODUCER})
    target = share.settings["target"]
    written = 0
    for messages in share.chunks():
        for message in messages[::2]:
            value = message.value() or b""
            produce(producer, target, value[:KEPT_BYTES], message.key())
            written += 1
        producer.poll(0)
    producer.flush()
    return written


if __name__ == "__main__":
    run(copy)
