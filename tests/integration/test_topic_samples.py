"""The newest records of a topic in a real Kafka: bounded, without a consumer group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fleet.topic_samples import MOST_BYTES, MOST_RECORDS, TopicSamples, read_newest, topics_of
from headrace.config.workspace.workspace import Cluster
from headrace.errors import TopicMissing, UsageError
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.embedded.broker import Broker

T0_MS = 1_772_359_200_000


@pytest.fixture
def cluster(broker: Broker) -> Cluster:
    return Cluster("fronting", broker.bootstrap_servers, None, {})


def send(cluster: Cluster, topic: str, values: list[bytes | None], partitions: int = 3) -> None:
    KafkaCluster(cluster).ensure_topic(topic, partitions)
    sender = Sender(cluster, topic)
    for number, value in enumerate(values):
        sender.send(KafkaRecord(value, b"key%d" % number, timestamp_ms=T0_MS + number))
    sender.close()


def test_the_newest_records_are_read_the_newest_first(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    topic = unique("sampled")
    send(cluster, topic, [b"%d" % number for number in range(MOST_RECORDS * 2)])
    found = read_newest(cluster, topic)
    assert found.held == MOST_RECORDS * 2
    assert len(found.records) == MOST_RECORDS
    assert found.records[0].value() == b"%d" % (MOST_RECORDS * 2 - 1)
    times = [one.timestamp_ms for one in found.records]
    assert times == sorted(times, reverse=True)
    assert topic in topics_of(cluster)


def test_large_records_and_those_without_a_value_are_read_within_bounds(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    topic = unique("sampled")
    large = MOST_BYTES // 4
    send(cluster, topic, [b"x" * large] * 12, 1)
    assert 4 <= len(read_newest(cluster, topic).records) < 12
    empty = unique("sampled")
    send(cluster, empty, [None])
    assert [one.value() for one in read_newest(cluster, empty).records] == [None]
    nothing = unique("sampled")
    send(cluster, nothing, [])
    assert read_newest(cluster, nothing).records == []


def test_a_topic_that_is_missing_or_internal_is_refused(cluster: Cluster) -> None:
    with pytest.raises(TopicMissing):
        read_newest(cluster, "no_such_topic")
    for topic in ("__consumer_offsets", "headrace.plays.ledger"):
        with pytest.raises(UsageError):
            read_newest(cluster, topic)
        assert topic not in topics_of(cluster)


def test_a_sample_is_kept_for_all_who_type(cluster: Cluster, unique: Callable[[str], str]) -> None:
    topic, samples = unique("sampled"), TopicSamples()
    send(cluster, topic, [b"1"])
    assert len(samples.of(cluster, topic).records) == 1
    send(cluster, topic, [b"2"])
    assert len(samples.of(cluster, topic).records) == 1
    assert len(samples.of(cluster, topic, fresh=True).records) == 2
