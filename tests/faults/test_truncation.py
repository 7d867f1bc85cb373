"""A topic that lost what was read of it: its leader was elected without the newest records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.load import load_app, load_lake_table, load_stream
from headrace.config.stream.effective import effective
from headrace.config.workspace.workspace import Cluster
from headrace.errors import Terminal
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.leaders import Reached
from headrace.kafka.sender import KafkaRecord, Sender
from headrace.signals import Drain
from lake_writer.audit import audit as lake_audit
from lake_writer.writer import LakeWriter
from router.audit.audit import audit as router_audit
from router.run.jobs import StreamRouter
from stream_app.live import live_sources, run_live
from tests.integration.pipelines import event

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.config.load import LoadedLakeTable
    from headrace.config.stream.effective import Effective
    from tests.broker_cluster import BrokerCluster
    from tests.integration.pipelines import Pipelines

UNCLEAN = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}


class Unclean:
    """A topic whose leader alone has some records, and whose follower is then elected."""

    def __init__(self, brokers: BrokerCluster, topic: str) -> None:
        self.brokers, self.topic = brokers, topic
        self.cluster = Cluster("three", brokers.bootstrap_servers, None, {})
        self.kafka = KafkaCluster(self.cluster)
        brokers.make_topic(topic, [[1, 2]], UNCLEAN)

    def send(self, number: int) -> None:
        sender = Sender(self.cluster, self.topic)
        for one in range(number):
            sender.send(KafkaRecord(event(one)))
        assert sender.close() == number

    def lose_the_follower(self) -> None:
        self.brokers.brokers[2].kill()
        self.brokers.wait_for("no follower", lambda: self.brokers.in_sync(self.topic) == {1})

    def elect_the_follower(self) -> None:
        self.brokers.brokers[1].kill()
        self.brokers.start(2)
        self.brokers.wait_for("the follower leads", lambda: self.brokers.leader(self.topic) == 2)

    def heal(self) -> None:
        self.brokers.start(1)
        self.brokers.wait_for("both in sync", lambda: self.brokers.is_whole(self.topic))


def test_the_offsets_that_hold_other_records_are_told(
    brokers: BrokerCluster, unique: Callable[[str], str]
) -> None:
    unclean = Unclean(brokers, unique("unclean"))
    kafka, topic = unclean.kafka, unclean.topic
    unclean.send(10)
    before = kafka.ends(topic)
    unclean.lose_the_follower()
    unclean.send(5)
    ends = kafka.ends(topic)
    read = {0: Reached(15, ends.epoch(0, 15))}
    assert kafka.replaced(topic, read, ends) == {}
    unclean.elect_the_follower()
    # Shorter than what was read, as long, and longer: each time it is told.
    for more, end in ((0, 10), (5, 15), (5, 20)):
        unclean.send(more)
        ends = kafka.ends(topic)
        assert ends.spans == {0: range(end)}
        assert kafka.replaced(topic, read, ends) == {0: range(10, 15)}
    # What was read before is what it was, by whichever leader it is known.
    for epoch in (before.epochs[0], ends.epochs[0]):
        assert kafka.replaced(topic, {0: Reached(10, epoch)}, ends) == {}
    unclean.heal()


def test_each_stage_names_what_it_read_and_the_topic_lost(
    brokers: BrokerCluster, three: Pipelines, spark: SparkSession, unique: Callable[[str], str]
) -> None:
    unclean = Unclean(brokers, unique("lost"))
    topic = unclean.topic
    brokers.make_topic(f"{topic}.all", [[3, 2, 1]])
    unclean.send(10)
    unclean.lose_the_follower()
    unclean.send(5)
    stages = Stages(three, spark, topic)
    assert stages.each() == ["routed", "landed", "read"]
    unclean.elect_the_follower()
    # Longer than before: offsets 10 to 14 look as if they were what was read.
    unclean.send(10)
    unclean.heal()
    told = f"{topic}-0 was read up to 15, and from 10 on it holds other records now"
    assert [told in one for one in stages.each()] == [True, True, True]
    # To go on behind it is kept: in the ledger and in the table.
    assert stages.each(on_data_loss="skip")[:2] == ["routed", "landed"]
    assert stages.each()[:2] == ["routed", "landed"]
    found = router_audit(three.workspace, stages.effective())
    others = "these offsets were read before the topic was truncated; the records that they hold now were not routed"
    # The output and the quarantine, each for itself.
    assert [one.message for one in found.findings] == 2 * [f"lost: {topic}-0 @ 10 to 14: {others}"]
    (partition,) = lake_audit(three.workspace, stages.lake_table()).partitions
    assert list(partition.lost) == [range(10, 15)]


class Stages:
    """A router, a lake writer and an application over one topic."""

    def __init__(self, pipelines: Pipelines, spark: SparkSession, topic: str) -> None:
        self._pipelines, self._spark, self._topic = pipelines, spark, topic

    def each(self, on_data_loss: str = "fail") -> list[str]:
        """Let each read what there is; returns what each did, or why it did not."""
        self._on_data_loss = on_data_loss
        return [self._told(run) for run in (self._route, self._land, self._read)]

    def effective(self) -> Effective:
        stream = self._pipelines.stream(self._topic, [{"name": "all"}], source=self._source())
        workspace = self._pipelines.workspace
        return effective(load_stream(stream, workspace), workspace, None)

    def lake_table(self) -> LoadedLakeTable:
        table = self._pipelines.table(self._topic, self._topic, source=self._source())
        return load_lake_table(table, self._pipelines.workspace)

    def _told(self, run: Callable[[], str]) -> str:
        try:
            return run()
        except Terminal as problem:
            return str(problem)

    def _source(self, **more: object) -> dict[str, object]:
        own = {"topic": self._topic, "on_data_loss": self._on_data_loss, **more}
        return {
            "type": "kafka",
            "cluster": "fronting",
            "format": "json",
            "schema": "schemas/event.avsc",
            **own,
        }

    def _route(self) -> str:
        router = StreamRouter(self._pipelines.workspace, self.effective())
        router.prepare()
        router.run(self._spark, Drain(), once=True)
        return "routed"

    def _land(self) -> str:
        writer = LakeWriter(self._pipelines.workspace, self.lake_table())
        writer.prepare()
        writer.run(self._spark, Drain(), once=True)
        return "landed"

    def _read(self) -> str:
        workspace = self._pipelines.workspace
        source = {"type": "kafka", "cluster": "fronting", "topics": self._topic, "format": "json"}
        path = self._pipelines.write(
            f"apps/{self._topic}.yaml",
            {
                "kind": "app",
                "name": self._topic,
                "sources": {"events": {**source, "schema": "schemas/event.avsc"}},
                "transform": {"sql": "SELECT id FROM events"},
                "sink": {"type": "jsonl", "path": f"out/{self._topic}"},
            },
        )
        app = load_app(path, workspace)
        run_live(app, workspace, self._spark, live_sources(app, {}), Drain(), once=True)
        return "read"
