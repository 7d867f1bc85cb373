"""Reading from followers while brokers are killed and leaders move: nothing lost, nothing doubled."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import structlog

from headrace.config.load import load_app, load_lake_table
from headrace.config.workspace.workspace import Cluster
from headrace.embedded.process import wait_until
from headrace.errors import Transient
from headrace.iceberg.catalog import table_loader
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.ranges import RangeReader
from headrace.kafka.sender import KafkaRecord, Sender
from headrace.landing.commit_state import CommitState, state_property
from headrace.signals import Drain
from lake_writer.writer import LakeWriter
from router.ledger.topic import LedgerTopic
from stream_app.live import live_sources, run_live
from tests.faults.acknowledged import AcknowledgedTraffic, Unrest
from tests.faults.lake_writer_process import in_files
from tests.faults.router_process import ids_of
from tests.integration.lag import GroupLag
from tests.integration.live import Live
from tests.integration.router.live_router import of_member
from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from tests.broker_cluster import BrokerCluster
    from tests.integration.pipelines import Pipelines

SEED = 20_260_301
PARTITIONS = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
# On a busy machine, whoever was held up by each of the kills has a lot to catch up with.
log = structlog.get_logger(__name__)


def read(reader: RangeReader, topic: str, wanted: range) -> list[int]:
    found = reader.chunks(topic, {0: wanted})
    return [message.offset() for _, messages in found for message in messages]


def test_a_follower_that_has_not_heard_of_the_last_records(brokers: BrokerCluster) -> None:
    """Leader 1 and follower 3 have records that follower 2, which is asked, learns of later."""
    topic = "behind"
    brokers.make_topic(topic, [[1, 2, 3]])
    sender = Sender(Cluster("three", brokers.bootstrap_servers, None, {}), topic)
    send(sender, 5)
    reader = RangeReader({"bootstrap.servers": brokers.bootstrap_servers, "client.rack": "b"})
    assert read(reader, topic, range(5)) == list(range(5))
    assert brokers.is_whole(topic)
    follower = brokers.process(2)
    follower.suspend()
    try:
        # Acknowledged without the follower, once the cluster has given it up.
        send(sender, 5)
        brokers.brokers[1].kill()
    finally:
        follower.resume()
    try:
        # Nobody tells the follower of the new records before another broker leads.
        assert read(reader, topic, range(5, 10)) == list(range(5, 10))
    finally:
        reader.close()
        brokers.start(1)
    brokers.wait_for("all in sync", lambda: brokers.is_whole(topic))


def send(sender: Sender, number: int) -> None:
    """Send so many more, and wait until they are acknowledged."""
    before = sender.delivered
    for one in range(number):
        sender.send(KafkaRecord(b"%d" % one))
    assert sender.close() == before + number


@dataclass
class Readers:
    """A router, a lake writer and an application over one topic, in one Spark session.

    An application ends when Kafka is away for too long; whoever runs it starts it again.
    """

    pipelines: Pipelines
    spark: SparkSession
    topic: str
    restarts: int = 0
    _drain: Drain = field(default_factory=Drain)
    _running: list[Live] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._cluster = self.pipelines.workspace.cluster("fronting")
        self._kafka = KafkaCluster(self._cluster)
        # A session has one query of a name.
        self._table, self._app = f"{self.topic}_table", f"{self.topic}_app"

    def __enter__(self) -> Readers:
        stream = self.pipelines.stream(self.topic, [{"name": "all"}])
        table = self.pipelines.table(self._table, self.topic, batch={"max_interval": "500ms"})
        workspace = self.pipelines.workspace
        router = self.pipelines.router(stream)
        router.prepare()
        writer = LakeWriter(workspace, load_lake_table(table, workspace))
        writer.prepare()
        runs: list[Callable[[Drain], object]] = [
            lambda drain: router.run(self.spark, drain, once=False),
            lambda drain: writer.run(self.spark, drain, once=False),
            self._application,
        ]
        self._drain.__enter__()
        self._running = [Live(run, self._drain) for run in runs]
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        for one in self._running:
            assert wait_until(one.ended, LONG_LIMIT_S)
        self._drain.__exit__(None, None, None)

    def require_well(self) -> None:
        """Raise why one of them has ended, if one has."""
        for one in self._running:
            if one.ended():
                one.end()
                raise AssertionError("it ended without a word")

    def have_all(self) -> bool:
        """Whether each of them has come to the topic's end."""
        self.require_well()
        ends = self._kafka.offsets(self.topic)
        return all(
            places.get(number, 0) >= span.stop
            for places in self._places()
            for number, span in ends.items()
        )

    def _places(self) -> Iterator[Mapping[int, int]]:
        yield self._ledger()
        properties = table_loader(self.pipelines.workspace, f"lake.tv.{self._table}")().properties
        yield CommitState.from_json(properties[state_property(self._table)]).next_offsets
        with GroupLag(self._cluster, self.topic, f"headrace.{self._app}.events") as group:
            yield group.places()

    def _ledger(self) -> dict[int, int]:
        cluster = self.pipelines.workspace.cluster("consumer")
        with contextlib.closing(LedgerTopic(KafkaCluster(cluster), self.topic)) as topic:
            found = of_member(topic, "all")
        return {n: one.stretch.end_exclusive for n, one in found[0].places.items()} if found else {}

    def routed(self) -> list[int]:
        """Return the ids that the router's output has."""
        cluster = self.pipelines.workspace.cluster("consumer")
        found: list[int] = ids_of(cluster, f"{self.topic}.all").tolist()
        return found

    def landed(self) -> list[tuple[int, int, int]]:
        """Return partition, offset and id of every row of the table's files."""
        rows = in_files(self.pipelines.workspace, self._table).tolist()
        return [(number, offset, one) for number, offset, one in rows]

    def seen(self) -> list[tuple[int, int, int]]:
        """Return partition, offset and id of all that the application has put out."""
        folder = self.pipelines.workspace.root / "out" / self._app
        lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
        return [(one["part"], one["place"], one["id"]) for one in map(json.loads, lines)]

    def _application(self, drain: Drain) -> None:
        workspace = self.pipelines.workspace
        query = (
            "SELECT id, __metadata__.partition AS part, __metadata__.offset AS place FROM events"
        )
        source = {"type": "kafka", "cluster": "fronting", "topics": self.topic, "format": "json"}
        app = {
            "kind": "app",
            "name": self._app,
            "sources": {"events": {**source, "schema": "schemas/event.avsc"}},
            "transform": {"sql": query},
            "sink": {"type": "jsonl", "path": f"out/{self._app}"},
        }
        path = self.pipelines.write(f"apps/{self._app}.yaml", app)
        while not drain.requested:
            try:
                loaded = load_app(path, workspace)
                sources = live_sources(loaded, {})
                run_live(loaded, workspace, self.spark, sources, drain, once=False)
            except Transient as problem:
                self.restarts += 1
                log.info("the application is started again", reason=problem.message)


@dataclass(frozen=True)
class Extent:
    """How much is done to the brokers, and how much is sent meanwhile."""

    kills: int
    moves: int
    per_s: int
    events: int


def through_unrest(
    brokers: BrokerCluster, pipelines: Pipelines, spark: SparkSession, topic: str, extent: Extent
) -> None:
    began = time.monotonic()
    brokers.make_topic(topic, PARTITIONS)
    brokers.make_topic(f"{topic}.all", PARTITIONS)
    unrest = Unrest(brokers, (topic, f"{topic}.all"), random.Random(SEED))
    with Readers(pipelines, spark, topic) as readers:
        with AcknowledgedTraffic(brokers.bootstrap_servers, topic, extent.per_s) as traffic:
            while unrest.kills < extent.kills or unrest.moved < extent.moves:
                readers.require_well()
                if unrest.kills < extent.kills:
                    unrest.kill()
                unrest.move_back()
                if unrest.stops * 4 <= unrest.kills:
                    unrest.stop()
                    unrest.move_back()
            assert wait_until(lambda: len(traffic.places) >= extent.events, LONG_LIMIT_S)
        told = traffic.places
        assert wait_until(readers.have_all, LONG_LIMIT_S)
    acknowledged = {(*place, number) for number, place in told.items()}
    routed = Counter(readers.routed())
    landed, seen = Counter(readers.landed()), Counter(readers.seen())
    figures = {
        "acknowledged": len(acknowledged),
        "refused": traffic.refused,
        "kills": unrest.kills,
        "stops": unrest.stops,
        "moved_leaders": unrest.moved,
        "router_lost": len(told.keys() - routed.keys()),
        "router_doubled": routed.total() - len(routed),
        "lake_lost": len(acknowledged - landed.keys()),
        "lake_doubled": landed.total() - len(landed),
        "live_lost": len(acknowledged - seen.keys()),
        "live_doubled": seen.total() - len(seen),
        "live_restarts": readers.restarts,
        "wall_s": round(time.monotonic() - began),
    }
    log.info("counted", **figures)
    for none in ("router_lost", "lake_lost", "lake_doubled", "live_lost", "live_doubled"):
        assert figures[none] == 0, figures


def test_a_few_kills(
    brokers: BrokerCluster,
    three: Pipelines,
    spark: SparkSession,
    unique: Callable[[str], str],
) -> None:
    through_unrest(brokers, three, spark, unique("followers"), Extent(2, 4, 1_000, 20_000))


@pytest.mark.long
def test_twenty_kills_and_a_million_events(
    brokers: BrokerCluster,
    three: Pipelines,
    spark: SparkSession,
    unique: Callable[[str], str],
) -> None:
    extent = Extent(20, 20, 2_000, 1_000_000)
    through_unrest(brokers, three, spark, unique("followers"), extent)
