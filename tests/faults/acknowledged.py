"""Producers that remember what brokers acknowledged, and what is done to the brokers meanwhile."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from confluent_kafka import Producer

from tests.integration.pipelines import event
from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    import random

    from confluent_kafka import KafkaError, Message

    from tests.broker_cluster import BrokerCluster

FLUSH_S: Final = 1.0


@dataclass
class AcknowledgedTraffic:
    """Sends events from a thread, `per_s` of them, until asked to end; used by `with`.

    `places` has partition and offset of every event that was acknowledged by all in sync.
    """

    servers: str
    topic: str
    per_s: int
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    refused: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> AcknowledgedTraffic:
        self._thread = threading.Thread(target=self._send)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Send no more, and wait until everything is acknowledged or given up."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(LONG_LIMIT_S)
            assert not self._thread.is_alive()

    def _send(self) -> None:
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 20, "log_level": 0}
        producer = Producer({**settings, "bootstrap.servers": self.servers})
        began, number = time.monotonic(), 0
        while not self._stop.is_set():
            due = int((time.monotonic() - began) * self.per_s)
            while number < due:
                producer.produce(self.topic, event(number), b"%d" % number, on_delivery=self._told)
                number += 1
                if not number % 1_000:
                    producer.poll(0)
            producer.poll(0.02)
        deadline = time.monotonic() + LONG_LIMIT_S
        while producer.flush(FLUSH_S) and time.monotonic() < deadline:
            pass

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refused += 1
            return
        key = message.key()
        assert key is not None
        self.places[int(key)] = (message.partition() or 0, message.offset() or 0)


@dataclass
class Unrest:
    """Kills and stops brokers one at a time, and moves leaders; counts what it did."""

    brokers: BrokerCluster
    topics: tuple[str, ...]
    chance: random.Random
    kills: int = 0
    stops: int = 0
    moved: int = 0

    def kill(self) -> None:
        """Kill a broker at once, let the others lead, and start it again."""
        node = self.chance.choice(list(self.brokers.brokers))
        led = self._led_by(node)
        self.brokers.brokers[node].kill()
        self.kills += 1
        self._let_others_lead(node, led)

    def stop(self) -> None:
        """Shut a broker down in order: it hands its leaders over."""
        node = self.chance.choice(list(self.brokers.brokers))
        led = self._led_by(node)
        self.brokers.brokers[node].stop()
        self.stops += 1
        self._let_others_lead(node, led)

    def move_back(self) -> None:
        """Let the preferred replicas lead again."""
        for topic in self.topics:
            self.moved += self.brokers.elect_preferred(topic)

    def _led_by(self, node: int) -> list[tuple[str, int]]:
        return [
            (topic, one.id)
            for topic in self.topics
            for one in self.brokers.partitions(topic)
            if one.leader == node
        ]

    def _let_others_lead(self, node: int, led: list[tuple[str, int]]) -> None:
        self.brokers.wait_for(
            "others lead",
            lambda: all(
                self.brokers.leader(topic, number) not in {None, node} for topic, number in led
            ),
        )
        self.moved += len(led)
        self.brokers.start(node)
        for topic in self.topics:
            self.brokers.wait_for(
                "all are in sync",
                lambda topic=topic: self.brokers.is_whole(topic),  # type: ignore[misc]  # a default binds the loop's value
            )
