"""A quarantine takes what its source took, on brokers that are stricter than the source topic."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from headrace.config.workspace.workspace import Cluster
from headrace.kafka.bulk import BulkProducer
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.quarantine import READING, Quarantine, quarantine_settings
from headrace.kafka.sender import KafkaRecord, Sender

if TYPE_CHECKING:
    from tests.broker_cluster import BrokerCluster

ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1)}
IN_TWO_DAYS_MS = 2 * 86_400_000


@pytest.fixture
def cluster(brokers: BrokerCluster) -> Cluster:
    """A cluster whose brokers refuse what is more than an hour ahead, where a topic does not say."""
    return Cluster("three", brokers.bootstrap_servers, None, {})


def test_a_record_from_the_future_and_ones_without_a_time(cluster: Cluster) -> None:
    kafka = KafkaCluster(cluster)
    kafka.ensure_topic("taken", 1, ANY_TIME)
    kafka.ensure_topic("strict", 1)
    ahead = int(time.time() * 1000) + IN_TWO_DAYS_MS
    sender = Sender(cluster, "taken")
    for at in (ahead, -1, 1):
        sender.send(KafkaRecord(b"bad", timestamp_ms=at))
    assert sender.close() == 3
    topic = "taken.quarantine"
    settings = quarantine_settings(kafka, topic, kafka.settings("taken"))
    kept = Quarantine(BulkProducer(settings), topic)
    strict = Quarantine(kept.producer, "strict")
    for message in kafka.records("taken"):
        kept.add(message, READING, "it is bad", "lake.t")
        strict.add(message, READING, "it is bad", "lake.t")
    refused = kept.producer.flush()
    assert {one.topic for one in refused} == {"strict"}
    assert "timestamp" in refused[0].reason.lower()
    assert "message.timestamp.after.max.ms" in str(strict.refused(refused[0].reason))
    times = sorted(message.timestamp()[1] for message in kafka.records(topic))
    assert times == [-1, 1, ahead]
