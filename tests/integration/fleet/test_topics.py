"""Following which topics a real cluster has, beside one that is away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.topics import TopicWatch
from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.embedded.broker import Broker

HEADRACE = """\
clusters:
  here: {{bootstrap_servers: "{bootstrap}"}}
  nowhere: {{bootstrap_servers: "127.0.0.1:1"}}
"""


def test_topics_come_and_go_and_a_cluster_that_is_away_says_nothing(
    tmp_path: Path, broker: Broker, unique: Callable[[str], str]
) -> None:
    (tmp_path / "headrace.yaml").write_text(HEADRACE.format(bootstrap=broker.bootstrap_servers))
    workspace = load_workspace(tmp_path)
    kafka = KafkaCluster(workspace.cluster("here"))
    first, second = unique("watched"), unique("watched")
    kafka.ensure_topic(first, 50)
    watch = TopicWatch()

    def topics() -> frozenset[str]:
        return watch.known()["here"] or frozenset()

    try:
        watch.want(workspace.clusters)
        assert wait_until(lambda: first in topics(), LIMIT_S)
        kafka.ensure_topic(second, 1)
        assert wait_until(lambda: {first, second} <= topics(), LIMIT_S)
        kafka.delete_topic(first)
        assert wait_until(lambda: first not in topics(), LIMIT_S)
        assert second in topics()
        assert watch.known()["nowhere"] is None
    finally:
        watch.close()
    assert watch.known() == {}
