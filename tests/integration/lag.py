"""How far a consumer group is behind its topic, as anybody's tools see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from headrace.kafka.cluster import KafkaCluster
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Cluster


class GroupLag:
    """A group's places in a topic, and the topic's ends; used by `with`."""

    def __init__(self, cluster: Cluster, topic: str, group: str) -> None:
        self._kafka, self._topic = KafkaCluster(cluster), topic
        self._consumer = Consumer({**cluster.client_properties(), "group.id": group})

    def __enter__(self) -> GroupLag:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def ends(self) -> dict[int, int]:
        """Return where each partition ends now."""
        return {number: span.stop for number, span in self._kafka.offsets(self._topic).items()}

    def places(self) -> dict[int, int]:
        """Return the group's next offset of each partition; at none it has none to show."""
        asked = [TopicPartition(self._topic, number) for number in self.ends()]
        found = self._consumer.committed(asked, LIMIT_S)
        return {place.partition: max(0, place.offset) for place in found}

    def lag(self) -> int:
        """Return how many records of the topic the group has not been through."""
        places = self.places()
        return sum(end - places[number] for number, end in self.ends().items())
