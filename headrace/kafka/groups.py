"""Places in a topic under a consumer group's name, so that ordinary tools show the lag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

from headrace.errors import Transient
from headrace.kafka.cluster import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.workspace import Cluster


class GroupPlace:
    """The committed place of one group; nobody ever joins it."""

    def __init__(self, cluster: Cluster, group: str) -> None:
        self.group = group
        self._consumer = Consumer(
            {**quiet(cluster.client_properties()), "group.id": group, "enable.auto.commit": False}
        )

    def commit(self, topic: str, nexts: Mapping[int, int]) -> None:
        """Commit the next offset of each partition."""
        places = [TopicPartition(topic, number, offset) for number, offset in nexts.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as problem:
            reason = problem.args[0].str()
            raise Transient(f"group {self.group} could not be committed: {reason}") from None

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()
