"""Creates topics together: a broker handles the requests of a connection one by one, and this is slow."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka.cimpl import NewTopic

GATHER_S: Final = 0.02


class TopicMaker:
    """Creates the topics of many callers in one request, over a separate connection."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self._wanted: list[tuple[NewTopic, Future[None]]] = []
        self._lock = threading.Lock()

    def make(self, topic: NewTopic) -> Future[None]:
        """Create a topic with the next request; return the future of its result."""
        future: Future[None] = Future()
        with self._lock:
            self._wanted.append((topic, future))
            is_first = len(self._wanted) == 1
        if is_first:
            threading.Thread(target=self._make, name="makes topics", daemon=True).start()
        return future

    def _make(self) -> None:
        time.sleep(GATHER_S)
        with self._lock:
            wanted, self._wanted = self._wanted, []
        by_name = {topic.topic: topic for topic, _ in wanted}
        try:
            # A client for each round: topics are seldom made, but for a first start.
            with AdminClient(quiet(self._properties)) as admin:
                asked = admin.create_topics(list(by_name.values()))
                for topic, future in wanted:
                    _pass_on(asked[topic.topic], future)
        except Exception as problem:  # noqa: BLE001 - to whoever waits for it
            for _, future in wanted:
                if not future.done():
                    future.set_exception(problem)


def _pass_on(asked: Future[None], future: Future[None]) -> None:
    try:
        future.set_result(asked.result())
    except KafkaException as problem:
        future.set_exception(problem)
