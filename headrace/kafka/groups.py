"""Positions in a topic under a consumer group's name, so that ordinary tools show the lag."""

from __future__ import annotations

import contextlib
import time
import weakref
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from headrace.errors import HeadraceError, Transient
from headrace.kafka.refusal import refusal
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from confluent_kafka import KafkaError

    from headrace.config.workspace.workspace import Cluster

TRY_EVERY_S: Final = 0.5
ANSWER_LIMIT_S: Final = 10.0


class GroupOffsets:
    """The committed position of one group; nobody ever joins it."""

    def __init__(self, cluster: Cluster, group: str) -> None:
        self.group = group
        self._cluster = cluster
        self._failed: KafkaError | None = None
        ours = weakref.ref(self)

        def committed(error: KafkaError | None, _: object) -> None:
            if error is not None and (group := ours()) is not None:
                group._failed = error  # noqa: SLF001 - our own

        self._committed = committed
        # Made when it is needed: one of a reader without news has nothing to commit.
        self._made: Consumer | None = None
        self._end: weakref.finalize[..., GroupOffsets] | None = None

    @property
    def _consumer(self) -> Consumer:
        if self._made is None:
            self._made = Consumer(
                {
                    **quiet(self._cluster.client_properties()),
                    "group.id": self.group,
                    "enable.auto.commit": False,
                    "on_commit": self._committed,
                }
            )
            # OpenSSL's own end, in the client, stumbles over threads that still run by then.
            self._end = weakref.finalize(self, self._made.close)
        return self._made

    def commit(self, topic: str, nexts: Mapping[int, int]) -> None:
        """Commit the next offset of each partition."""
        try:
            self._consumer.commit(offsets=_positions(topic, nexts), asynchronous=False)
        except KafkaException as problem:
            raise self._failure(problem.args[0]) from None

    def commit_soon(self, topic: str, nexts: Mapping[int, int]) -> None:
        """Begin to commit them; raise what kept an earlier one from being committed."""
        with contextlib.suppress(KafkaException):
            # It may also say that the group's coordinator is away: the commit will.
            self._consumer.poll(0)
        failed, self._failed = self._failed, None
        try:
            self._consumer.commit(offsets=_positions(topic, nexts), asynchronous=True)
        except KafkaException as problem:
            failed = problem.args[0]
        if failed is not None:
            raise self._failure(failed)

    def committed(self, topic: str, numbers: Iterable[int]) -> dict[int, int]:
        """Return the next offset of each of these partitions that has one."""
        asked = [TopicPartition(topic, number) for number in numbers]
        try:
            found = self._consumer.committed(asked, ANSWER_LIMIT_S)
        except KafkaException as problem:
            settings = self._cluster.client_properties()
            if (refused := refusal(problem.args[0], settings, self._cluster.name)) is not None:
                raise refused from None
            reason = problem.args[0].str()
            raise Transient(f"group {self.group} could not be read: {reason}") from None
        return {one.partition: one.offset for one in found if one.offset >= 0}

    def close(self) -> None:
        """Let go of the connection, when all is committed."""
        if self._end is not None:
            self._end()

    def _failure(self, error: KafkaError) -> HeadraceError:
        settings = self._cluster.client_properties()
        if (refused := refusal(error, settings, self._cluster.name)) is not None:
            return refused
        return Transient(f"group {self.group} could not be committed: {error.str()}")


def _positions(topic: str, nexts: Mapping[int, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, number, offset) for number, offset in nexts.items()]


class ShownOffsets:
    """A reader's positions as the lag of a group. What keeps Kafka from it ends no reader."""

    def __init__(self, cluster: Cluster, group: str) -> None:
        self._group = GroupOffsets(cluster, group)
        self._shown: Mapping[str, Mapping[int, int]] | None = None
        self._next_try_s = float("-inf")

    def show(self, positions: Mapping[str, Mapping[int, int]]) -> None:
        """Commit the next offset of each topic's partitions, once; after a failure, not at once."""
        if positions == self._shown or time.monotonic() < self._next_try_s:
            return
        try:
            for topic, nexts in positions.items():
                self._group.commit(topic, nexts)
            self._shown = positions
        except HeadraceError:
            self._next_try_s = time.monotonic() + TRY_EVERY_S

    def close(self) -> None:
        """Let go of the connection."""
        self._group.close()
