"""Ids of topics, as the client's library hands them out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.settings import quiet
from headrace.kafka.topic_ids import id_of

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace

LIMIT_S = 10.0
# The variable of the test, and the argument of the count itself.
HELD_BY_THE_TEST = 2


def test_an_id_is_freed_by_its_last_holder(workspace: Workspace) -> None:
    """It fails where the library is mended and `id_of` still gives back what nobody holds."""
    cluster = workspace.clusters["fronting"]
    kafka = KafkaCluster(cluster)
    kafka.ensure_topic("ids", 1)
    admin = AdminClient(quiet(cluster.client_properties()))
    described = admin.describe_topics(TopicCollection(["ids"]))["ids"].result(LIMIT_S)
    held = described.topic_id
    assert id_of(described) == str(held) == kafka.topic_id("ids")
    del described
    # A thread of the library may still hold the description for a moment.
    wait_until(lambda: sys.getrefcount(held) <= HELD_BY_THE_TEST, LIMIT_S)
    assert sys.getrefcount(held) == HELD_BY_THE_TEST
