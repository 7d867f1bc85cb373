"""Clients that the log topics of a cluster share: one producer, and a reader for each read at a time."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.errors import Transient
from headrace.kafka.ranges import RangeReader
from headrace.kafka.refusal import refusal, settings_refused
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from confluent_kafka import Message as ClientMessage

Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]
WRITE_LIMIT_S: Final = 60.0
POLL_S: Final = 0.05
# As many idle readers are kept for the next caller; others are closed.
MOST_IDLE: Final = 4


class LogClients:
    """Lends readers, and writes; its methods may be called by several threads."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = dict(properties)
        self._idle: dict[Isolation, list[RangeReader]] = {}
        self._producer: Producer | None = None
        self._lock = threading.Lock()
        # Whether the last write was not acknowledged in time.
        self.is_silent = False

    @contextlib.contextmanager
    def reader(self, isolation: Isolation) -> Iterator[RangeReader]:
        """Hold a reader that nobody else uses."""
        with self._lock:
            idle = self._idle.setdefault(isolation, [])
            found = idle.pop() if idle else None
        reader = found or RangeReader(self.properties, isolation)
        try:
            yield reader
        except BaseException:
            # It may still have records of the read that failed.
            reader.close()
            raise
        with self._lock:
            is_kept = len(idle) < MOST_IDLE
            if is_kept:
                idle.append(reader)
        if not is_kept:
            reader.close()

    def write(
        self,
        topic: str,
        partition: int,
        records: Sequence[tuple[str, str | None]],
        limit_s: float = WRITE_LIMIT_S,
    ) -> list[int]:
        """Write records (key and value; None removes the key); return their offsets."""
        return self.write_all({(topic, partition): records}, limit_s)[topic, partition]

    def write_all(
        self,
        records: Mapping[tuple[str, int], Sequence[tuple[str, str | None]]],
        limit_s: float = WRITE_LIMIT_S,
    ) -> dict[tuple[str, int], list[int]]:
        """Write records to several partitions at once; return their offsets."""
        written: dict[tuple[str, int], list[int]] = {at: [] for at in records}
        failed: list[tuple[str, KafkaError]] = []
        missing = sum(map(len, records.values()))

        def arrived(error: KafkaError | None, message: ClientMessage) -> None:
            nonlocal missing
            topic, partition = message.topic() or "", message.partition() or 0
            if error is None:
                written[topic, partition].append(message.offset() or 0)
            else:
                failed.append((topic, error))
            missing -= 1

        producer = self._writer()
        for (topic, partition), own in records.items():
            for key, value in own:
                producer.produce(topic, value, key, partition=partition, on_delivery=arrived)
        deadline = time.monotonic() + limit_s
        # The poll of another thread may get our acknowledgements.
        while missing and time.monotonic() < deadline:
            producer.poll(POLL_S)
        self.is_silent = bool(missing) or any(
            error.code() == KafkaError._MSG_TIMED_OUT  # noqa: SLF001 - the client's name for it
            for _, error in failed
        )
        if failed or missing:
            at, error = failed[0] if failed else (next(iter(records))[0], None)
            if error and (refused := refusal(error, self.properties, topic=at)):
                raise refused
            reason = error.str() if error else "no acknowledgement"
            raise Transient(f"a record did not reach {at}: {reason}")
        return written

    def close(self) -> None:
        """Let go of the connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
            self._producer = None
        for readers in idle.values():
            for one in readers:
                one.close()

    def _writer(self) -> Producer:
        with self._lock:
            if self._producer is None:
                settings = {
                    **quiet(self.properties),
                    "acks": "all",
                    "linger.ms": 0,
                    # In order; twice the same record is one in a log of keys. An idempotent producer
                    # waits half a second for its id before its first record.
                    "enable.idempotence": False,
                    "max.in.flight.requests.per.connection": 1,
                    # A record that nobody waits for any more must not arrive after newer ones.
                    "message.timeout.ms": int(WRITE_LIMIT_S * 1000),
                }
                try:
                    self._producer = Producer(settings)
                except KafkaException as problem:
                    raise settings_refused(problem) from None
            return self._producer
