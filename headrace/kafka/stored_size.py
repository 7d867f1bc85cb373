"""How many bytes a topic's records take in Kafka's log, as its producers compressed them.

A broker sends batches as they lie in its log, so what a consumer receives is what the log has. The
client counts both: the bytes that came from the brokers, and the records that were in them.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, KafkaError, TopicPartition

from headrace.errors import Transient
from headrace.kafka.headers import with_readable_headers
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kafka.message import Message

# A page waits for it: so much is received, of so many partitions, for so long.
MOST_BYTES: Final = 8 * 2**20
MOST_PARTITIONS: Final = 16
LIMIT_S: Final = 8.0
REPORT_EVERY_MS: Final = 50
POLL_S: Final = 0.05
CHUNK: Final = 1_000
# Larger than most batches: what a fetch cuts off at its end was received, and counts for no record.
FETCH_BYTES: Final = 2 * 2**20


@dataclass(frozen=True, slots=True)
class StoredSize:
    """A sample: records, what they take in the log, and their keys, values and headers unpacked."""

    records: int
    log_bytes: int
    plain_bytes: int


@dataclass(frozen=True, slots=True)
class _Received:
    """What a client has received since it was made."""

    bytes: int = 0
    records: int = 0


def stored_size(
    properties: Mapping[str, str], topic: str, spans: Mapping[int, range]
) -> StoredSize | None:
    """Measure the oldest records that a topic holds; None where there are none in time.

    Only where a log begins it is certain that a record begins a batch.
    """
    held = [(number, span) for number, span in sorted(spans.items()) if span]
    chosen = held[:: max(1, -(-len(held) // MOST_PARTITIONS))]
    if not chosen:
        return None
    reports = _Reports(topic)
    settings: dict[str, Any] = {
        **quiet(properties),
        # The client wants a name; nothing is subscribed to or committed under it.
        "group.id": "headrace.sizes",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "fetch.message.max.bytes": FETCH_BYTES,
        "queued.max.messages.kbytes": MOST_BYTES // 1024,
        "statistics.interval.ms": REPORT_EVERY_MS,
        "stats_cb": reports.take,
    }
    with contextlib.closing(Consumer(settings)) as consumer:
        consumer.list_topics(topic, LIMIT_S)
        before = reports.when_still(consumer)
        consumer.assign([TopicPartition(topic, number, span.start) for number, span in chosen])
        records, plain_bytes = _read(consumer, len(chosen), reports)
        consumer.pause(consumer.assignment())
        received = reports.when_still(consumer)
    if not records or received.records < records:
        return None
    log_bytes = received.bytes - before.bytes
    return StoredSize(received.records, log_bytes, plain_bytes * received.records // records)


def _read(consumer: Consumer, partitions: int, reports: _Reports) -> tuple[int, int]:
    """Read until the sample is large enough, or all is read; return records and their bytes."""
    records = plain_bytes = 0
    ended: set[int] = set()
    deadline = time.monotonic() + LIMIT_S
    while len(ended) < partitions and plain_bytes < MOST_BYTES and time.monotonic() < deadline:
        read = consumer.consume(CHUNK, POLL_S)
        for message in read:
            problem = message.error()
            if problem is not None and problem.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                ended.add(message.partition() or 0)
            elif problem is not None:
                raise Transient(
                    f"topic {message.topic()} could not be read: {problem.str()}",
                    "it is tried again by itself",
                )
        whole = with_readable_headers([one for one in read if one.error() is None])
        records += len(whole)
        plain_bytes += sum(map(_plain_bytes, whole))
        if reports.last.bytes >= 2 * MOST_BYTES:
            break
    return records, plain_bytes


def _plain_bytes(message: Message) -> int:
    headers = message.headers() or ()
    return (
        len(message.value() or b"")
        + len(message.key() or b"")
        + sum(len(name) + len(value or b"") for name, value in headers)
    )


class _Reports:
    """What the client reports of itself, several times a second."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.number = 0
        self.last = _Received()

    def take(self, text: str) -> None:
        """Take a report; the client calls it while it is polled."""
        said = json.loads(text)
        partitions = said.get("topics", {}).get(self._topic, {}).get("partitions", {})
        self.last = _Received(
            sum(one.get("rxbytes", 0) for one in said.get("brokers", {}).values()),
            sum(one.get("rxmsgs", 0) for one in partitions.values()),
        )
        self.number += 1

    def when_still(self, consumer: Consumer) -> _Received:
        """Return what was received when nothing more comes."""
        deadline = time.monotonic() + LIMIT_S
        since, before = self.number, None
        while (self.number < since + 2 or before != self.last) and time.monotonic() < deadline:
            number, before = self.number, self.last
            while self.number == number and time.monotonic() < deadline:
                consumer.poll(POLL_S)
        return self.last
