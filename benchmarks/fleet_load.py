"""Records to all streams of a fleet at a steady rate, and how long each takes to be readable."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.contract import ORIGIN
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Message

BURSTS_A_SECOND = 50
POLL_S = 0.2
# Readers of hundreds of topics take what there is a few times a second, and not each record alone.
FETCH_WAIT_MS = 200
FETCH_BYTES = 1_000_000


class Traffic:
    """Sends each stream so many records a second, all with ids of their own, until its end."""

    def __init__(self, bootstrap_servers: str, names: list[str], per_s: float) -> None:
        self._producer = Producer(
            {
                **quiet({"bootstrap.servers": bootstrap_servers}),
                "enable.idempotence": True,
                "linger.ms": 50,
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        self._names = names
        self._per_s = per_s
        self.sent: Counter[str] = Counter()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Send no more; all that was sent has arrived when this returns."""
        self._over.set()
        self._thread.join()
        self._producer.flush()

    def send(self, name: str, records: int) -> None:
        """Send a stream so many records at once."""
        first = self.sent[name]
        for number in range(first, first + records):
            while True:
                try:
                    self._producer.produce(f"{name}.in", b'{"id": %d}' % number)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self.sent[name] = first + records

    def flush(self) -> None:
        """Wait until all has arrived."""
        self._producer.flush()

    def _send(self) -> None:
        # Each stream gets its second's records at once, and each at another time of the second.
        each = int(self._per_s)
        slots = [self._names[at::BURSTS_A_SECOND] for at in range(BURSTS_A_SECOND)]
        began_s, number = time.monotonic(), 0
        while not self._over.wait(max(0.0, began_s + number / BURSTS_A_SECOND - time.monotonic())):
            for name in slots[number % BURSTS_A_SECOND]:
                self.send(name, each)
            self._producer.poll(0)
            number += 1


@dataclass
class Reader:
    """Reads what all streams write, as far as it is committed, in a thread."""

    bootstrap_servers: str
    names: Sequence[str]
    partitions: int = 1
    ages_s: list[float] = field(default_factory=list)
    ids: dict[str, list[int]] = field(default_factory=dict)
    newest: dict[str, dict[str, int]] = field(default_factory=dict)
    # A stream whose records are older than it is.
    ignored: str = ""
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self.ids = {name: [] for name in self.names}
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Read no further."""
        self._over.set()
        self._thread.join()

    def begin(self) -> None:
        """Forget the ages so far."""
        self.ages_s = []

    def quantiles(self) -> str:
        """Return the ages in words."""
        if not self.ages_s:
            return "nothing was read"
        at = [float(np.quantile(self.ages_s, one)) for one in (0.5, 0.99, 1.0)]
        return (
            f"{len(self.ages_s):,} read, p50 {at[0]:.2f} s, p99 {at[1]:.2f} s, most {at[2]:.2f} s"
        )

    @property
    def oldest_s(self) -> float:
        """How old the oldest record was when it was read."""
        return max(self.ages_s, default=float("inf"))

    @property
    def read(self) -> int:
        """How many records were read."""
        return sum(map(len, self.ids.values()))

    def flaws(self, sent: Counter[str]) -> tuple[int, int]:
        """Return how many records are lost, and how many are there twice."""
        lost = doubled = 0
        for name, ids in self.ids.items():
            unique = len(set(ids))
            lost += sent[name] - unique
            doubled += len(ids) - unique
        return lost, doubled

    def _read(self) -> None:
        consumer = Consumer(
            {
                **quiet({"bootstrap.servers": self.bootstrap_servers}),
                "group.id": "fleet",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": FETCH_WAIT_MS,
                "fetch.min.bytes": FETCH_BYTES,
            }
        )
        whole = [(name, number) for name in self.names for number in range(self.partitions)]
        consumer.assign([TopicPartition(f"{name}.out", number, 0) for name, number in whole])
        try:
            while not self._over.is_set():
                messages = consumer.consume(10_000, POLL_S)
                now_s = time.time()
                for message in messages:
                    self._take(message, now_s)
        finally:
            consumer.close()

    def _take(self, message: Message, now_s: float) -> None:
        if message.error() is not None:
            return
        name = (message.topic() or "").removesuffix(".out")
        value = json.loads(message.value() or b"{}")
        self.ids[name].append(value["id"])
        self.newest[name] = value
        if name == self.ignored:
            return
        with contextlib.suppress(KeyError):
            origin = dict(message.headers() or ())[ORIGIN] or b"/0"
            text = origin if isinstance(origin, str) else origin.decode()
            self.ages_s.append(now_s - int(text.rsplit("/", 1)[1]) / 1000)
