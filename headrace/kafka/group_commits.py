"""Commits the lag of many groups through one client. A consumer for each would need five threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import structlog
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from headrace.kafka.refusal import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from headrace.errors import HeadraceError
    from headrace.kafka.cluster import KafkaCluster

# The lag that others see is this old at most.
EVERY_S: Final = 10.0
AT_ONCE: Final = 20
ANSWER_LIMIT_S: Final = 10.0
AT_ITS_END_S: Final = 3.0
log = structlog.get_logger(__name__)


class GroupCommits:
    """Commits the newest positions of groups that have no members."""

    def __init__(self, kafka: KafkaCluster) -> None:
        self._kafka = kafka
        self._due: dict[str, tuple[str, Mapping[int, int]]] = {}
        self._lock = threading.Lock()
        self._named: set[str] = set()
        self._is_running = False
        self._closed = threading.Event()

    def commit_soon(self, group: str, topic: str, nexts: Mapping[int, int]) -> None:
        """Let the next round commit them."""
        with self._lock:
            self._due[group] = topic, nexts
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name="commits lags", daemon=True).start()

    def commit_now(self, group: str) -> None:
        """Commit what is due of a group that ends."""
        with self._lock:
            last = self._due.pop(group, None)
        # Whoever ends does not wait for a cluster that did not answer a moment ago.
        if last is not None and not self._named:
            self._commit({group: last}, AT_ITS_END_S)

    def close(self) -> None:
        """Commit no more."""
        self._closed.set()

    def _work(self) -> None:
        while not self._closed.wait(EVERY_S):
            with self._lock:
                due, self._due = self._due, {}
            groups = list(due)
            for begin in range(0, len(groups), AT_ONCE):
                self._commit({one: due[one] for one in groups[begin : begin + AT_ONCE]})

    def _commit(
        self, due: Mapping[str, tuple[str, Mapping[int, int]]], limit_s: float = ANSWER_LIMIT_S
    ) -> None:
        asked: dict[str, Future[ConsumerGroupTopicPartitions]] = {}
        try:
            for group, (topic, nexts) in due.items():
                at = [TopicPartition(topic, number, offset) for number, offset in nexts.items()]
                asked |= self._kafka.admin.alter_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(group, at)], request_timeout=limit_s
                )
        except KafkaException as problem:
            self._failed(next(iter(due)), problem)
        for group, answer in asked.items():
            try:
                answer.result(2 * limit_s)
                self._named.discard(group)
            except (KafkaException, TimeoutError) as problem:
                self._failed(group, problem)

    def _failed(self, group: str, problem: Exception) -> None:
        """Name a failure once: only what others see of the lag, and the next round commits it."""
        if group in self._named:
            return
        self._named.add(group)
        said: HeadraceError | None = None
        if isinstance(problem, KafkaException):
            said = refusal(problem.args[0], self._kafka.properties, self._kafka.name)
        reason = str(said or problem or type(problem).__name__)
        log.warning("the lag could not be committed", group=group, reason=reason)


class SharedGroup:
    """The committed position of one group, among many."""

    def __init__(self, commits: GroupCommits, group: str) -> None:
        self.group = group
        self._commits = commits

    def commit_soon(self, topic: str, nexts: Mapping[int, int]) -> None:
        """Commit these positions with the next round."""
        self._commits.commit_soon(self.group, topic, nexts)

    def close(self) -> None:
        """Commit what is left."""
        self._commits.commit_now(self.group)
