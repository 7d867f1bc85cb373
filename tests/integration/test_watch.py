"""Many topics of a cluster, asked about in one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.workspace.workspace import Cluster
from headrace.embedded.process import wait_until
from headrace.kafka.group_commits import SharedGroup
from headrace.kafka.groups import GroupOffsets
from headrace.kafka.sender import KafkaRecord, Sender
from headrace.kafka.shared import SharedClusters
from headrace.kafka.watch import Unanswered
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.embedded.broker import Broker
    from headrace.kafka.shared import SharedCluster
    from headrace.kafka.watch import ClusterWatch


@pytest.fixture
def cluster(broker: Broker) -> Cluster:
    return Cluster("here", broker.bootstrap_servers, None, {})


@pytest.fixture
def shared(cluster: Cluster) -> SharedCluster:
    return SharedClusters().of(cluster)


def ends(
    watch: ClusterWatch, topics: Sequence[str], since_s: float
) -> Mapping[str, Mapping[int, int]]:
    """Ask about all topics as jobs do that are due together, until all is known."""
    found: dict[str, Mapping[int, int]] = {}

    def are_known() -> bool:
        for topic in topics:
            if (at := watch.next_offsets(topic, since_s)) is not None:
                found[topic] = at
        return len(found) == len(topics)

    assert wait_until(are_known, LIMIT_S)
    return found


def test_many_topics_are_one_question(cluster: Cluster, shared: SharedCluster) -> None:
    topics = [f"watched_{number}" for number in range(30)]
    for number, topic in enumerate(topics):
        shared.kafka.ensure_topic(topic, 1 + number % 3)
    sender = Sender(cluster, topics[4])
    sender.send(KafkaRecord(b"{}", partition=1))
    sender.close()
    watch = shared.watch
    first = ends(watch, topics, 0.0)
    assert first[topics[0]] == {0: 0}
    assert first[topics[4]] == {0: 0, 1: 1}
    # Those that were asked for a moment later may have been another one.
    assert 1 <= watch.questions <= 5
    asked = watch.questions
    assert ends(watch, topics, 0.0) == first
    assert watch.questions == asked


def test_a_look_tells_what_the_topic_itself_would(shared: SharedCluster) -> None:
    shared.kafka.ensure_topic("looked_at", 2)
    state = shared.watch.wait_for_state("looked_at")
    assert state is not None
    assert state.ends == shared.kafka.ends("looked_at")
    assert state.topic_id == shared.kafka.topic_id("looked_at")
    assert shared.watch.last_state("looked_at", LIMIT_S) == state


def test_a_topic_that_is_not_there_is_answered_for_nobody_else(shared: SharedCluster) -> None:
    shared.kafka.ensure_topic("beside_it", 1)
    watch = shared.watch

    def is_refused() -> bool:
        try:
            watch.next_offsets("beside_it", 0.0)
            return watch.next_offsets("not_there", 0.0) is not None
        except Unanswered:
            return True

    assert wait_until(is_refused, LIMIT_S)
    assert ends(watch, ["beside_it"], 0.0) == {"beside_it": {0: 0}}
    assert watch.wait_for_state("not_there") is None


def test_a_cluster_that_is_away_has_no_answer_for_anybody() -> None:
    watch = SharedClusters().of(Cluster("away", "127.0.0.1:1", None, {})).watch

    def is_refused() -> bool:
        try:
            return watch.next_offsets("any", 0.0) is not None
        except Unanswered:
            return True

    assert wait_until(is_refused, LIMIT_S)


def test_lags_of_many_groups_are_committed_by_one_client(
    cluster: Cluster, shared: SharedCluster
) -> None:
    shared.kafka.ensure_topic("lagging", 2)
    groups = [SharedGroup(shared.groups, f"headrace.many.{number}") for number in range(3)]
    for number, group in enumerate(groups):
        group.commit_soon("lagging", {0: 0, 1: number})
        group.close()
    for number, group in enumerate(groups):
        held = GroupOffsets(cluster, group.group)
        assert held.committed("lagging", [0, 1]) == {0: 0, 1: number}
        held.close()
