"""MirrorMaker's source connector, until its target holds all records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition

from benchmarks.peers.connect_worker import run

if TYPE_CHECKING:
    from collections.abc import Callable


def held(settings: dict[str, Any]) -> Callable[[], int]:
    """Return what counts the records of the target."""
    consumer = Consumer({"bootstrap.servers": settings["bootstrap_servers"], "group.id": "peer"})
    places = [TopicPartition(settings["topic"], part) for part in range(settings["partitions"])]

    def count() -> int:
        spans = (consumer.get_watermark_offsets(place) for place in places)
        return sum(following - first for first, following in spans)

    return count


if __name__ == "__main__":
    run(held)
