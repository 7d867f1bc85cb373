"""One process per core over the partitions of a topic, as hand-written consumers are run."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from confluent_kafka import Message

CHUNK = 10_000
# A chunk that does not fill up is taken as it is after this time.
FILL_S = 0.1
PATIENCE_S = 30.0
# As those set it who measure: few large fetches, and no rest of a second (librdkafka's own) for a
# partition whose queue is full.
CONSUMER = {
    "fetch.max.bytes": 64 * 2**20,
    "max.partition.fetch.bytes": 16 * 2**20,
    "queued.max.messages.kbytes": 128 * 1024,
    "fetch.queue.backoff.ms": 10,
}
PRODUCER = {
    "linger.ms": 50,
    "batch.size": 2**20,
    "compression.type": "lz4",
    "acks": "all",
    "enable.idempotence": True,
    "queue.buffering.max.messages": 500_000,
}


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a topic that one process works on."""

    settings: dict[str, Any]
    number: int
    partitions: tuple[int, ...]

    def chunks(self) -> Iterator[list[Message]]:
        """Read the share's partitions to their present end."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.settings["bootstrap_servers"],
                "group.id": "peer",
                "enable.auto.commit": False,
                **CONSUMER,
            }
        )
        topic = self.settings["topic"]
        places = [TopicPartition(topic, part, OFFSET_BEGINNING) for part in self.partitions]
        # Ending at the offsets of now: waiting for the broker to say «no more» costs its patience.
        ends = {place.partition: consumer.get_watermark_offsets(place)[1] for place in places}
        consumer.assign(places)
        deadline = time.monotonic() + PATIENCE_S
        while any(max(at.offset, 0) < ends[at.partition] for at in consumer.position(places)):
            messages = consumer.consume(CHUNK, FILL_S)
            if not messages:
                if time.monotonic() > deadline:
                    sys.exit(f"{topic} stopped answering")
                continue
            deadline = time.monotonic() + PATIENCE_S
            problem = next(filter(None, (message.error() for message in messages)), None)
            if problem is not None:
                raise KafkaException(problem)
            yield messages
        consumer.close()


def run(work: Callable[[Share], int]) -> None:
    """Do the work in one process per core; print the rows and the time it took."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    processes = min(len(os.sched_getaffinity(0)), settings["partitions"])
    shares = [
        Share(settings, number, tuple(range(number, settings["partitions"], processes)))
        for number in range(processes)
    ]
    begun = time.perf_counter()
    # Forked before there is any client: librdkafka's threads do not survive a fork.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
        rows = sum(pool.map(work, shares))
    print(json.dumps({"rows": rows, "work_s": time.perf_counter() - begun}))
