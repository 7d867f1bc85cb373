"""Three brokers in racks of their own: leaders move, brokers die, and followers serve readers."""

from __future__ import annotations

import contextlib
import random
import uuid
from typing import TYPE_CHECKING, Final, Self

import psutil
from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.embedded.broker import HOST, Broker, BrokerOptions, is_taken
from headrace.embedded.process import wait_until
from tests.limits import LIMIT_S
from tests.short_lived import JAVA_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from confluent_kafka.admin._metadata import PartitionMetadata

NODES: Final = (1, 2, 3)
# Below what the kernel gives to outgoing connections: a client that asks for a broker that is down
# would now and then be given the broker's own port.
PORTS: Final = range(12_000, 32_000)


class BrokerCluster:
    """Brokers 1, 2 and 3 in the racks a, b and c; each is a controller, too.

    Topics have three replicas, of which two have to be there. Used by `with`.
    """

    def __init__(self, folder: Path, settings: Mapping[str, object] | None = None) -> None:
        ports = _ports(2 * len(NODES))
        listening, controllers = ports[: len(NODES)], ports[len(NODES) :]
        voters = ",".join(
            f"{node}@{HOST}:{port}" for node, port in zip(NODES, controllers, strict=True)
        )
        cluster_id = uuid.uuid4()
        self.brokers = {
            node: Broker(
                folder / f"broker-{node}",
                BrokerOptions(
                    ports=(port,),
                    heap_mb=256,
                    java_options=JAVA_OPTIONS,
                    controller_port=controller,
                    cluster_id=cluster_id,
                    settings={**_settings(node, voters), **(settings or {})},
                ),
            )
            for node, port, controller in zip(NODES, listening, controllers, strict=True)
        }
        self.bootstrap_servers = ",".join(f"{HOST}:{port}" for port in listening)
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})

    def __enter__(self) -> Self:
        try:
            for broker in self.brokers.values():
                broker.start(waits=False)
            for broker in self.brokers.values():
                broker.wait_until_ready()
            self.wait_for("three brokers", lambda: len(self.alive()) == len(NODES))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End all of them as a crash would: the last ones would wait for the others in vain."""
        self._admin.__exit__(None, None, None)
        for broker in self.brokers.values():
            with contextlib.suppress(Exception):
                broker.kill()

    def process(self, node: int) -> psutil.Process:
        """Return a broker's process, to be suspended and resumed."""
        return psutil.Process(self.brokers[node].pid)

    def start(self, *nodes: int) -> None:
        """Start brokers again, together."""
        for node in nodes:
            self.brokers[node].start(waits=False)
        for node in nodes:
            self.brokers[node].wait_until_ready()

    def alive(self) -> set[int]:
        """Return the brokers that the cluster knows."""
        with contextlib.suppress(KafkaException):
            return set(self._admin.list_topics(timeout=5.0).brokers)
        return set()

    def make_topic(
        self,
        topic: str,
        replicas: list[list[int]],
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic whose partitions have their replicas on these brokers, the leader first."""
        new = NewTopic(topic, len(replicas), replica_assignment=replicas, config=dict(config or {}))
        self._admin.create_topics([new])[topic].result(LIMIT_S)
        self.wait_for(
            f"leaders of {topic}", lambda: all(one.leader > 0 for one in self.partitions(topic))
        )

    def partitions(self, topic: str) -> list[PartitionMetadata]:
        """Return a topic's partitions as the cluster describes them; none while it is silent."""
        with contextlib.suppress(KafkaException):
            known = self._admin.list_topics(topic, timeout=5.0).topics[topic].partitions
            return [known[number] for number in sorted(known)]
        return []

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """Return who leads a partition; None where that is not known, or nobody."""
        known = self.partitions(topic)
        leader = known[partition].leader if len(known) > partition else -1
        return leader if leader > 0 else None

    def in_sync(self, topic: str, partition: int = 0) -> set[int]:
        """Return the replicas of a partition that are in sync."""
        known = self.partitions(topic)
        return set(known[partition].isrs) if len(known) > partition else set()

    def is_whole(self, topic: str) -> bool:
        """Whether all replicas of all partitions are in sync."""
        known = self.partitions(topic)
        return bool(known) and all(
            one.leader > 0 and set(one.isrs) == set(one.replicas) for one in known
        )

    def elect_preferred(self, topic: str) -> int:
        """Let the first replica of each partition lead again; returns how many leaders moved."""
        away = [one.id for one in self.partitions(topic) if one.leader != one.replicas[0]]
        if not away:
            return 0
        asked = [TopicPartition(topic, number) for number in away]
        self._admin.elect_leaders(ElectionType.PREFERRED, asked).result(LIMIT_S)
        self.wait_for(
            f"the preferred leaders of {topic}",
            lambda: all(one.leader == one.replicas[0] for one in self.partitions(topic)),
        )
        return len(away)

    def wait_for(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for something that comes about while all brokers are alive or on their way."""
        assert wait_until(condition, LIMIT_S), f"{what}: not within {LIMIT_S:.0f} s"


def _settings(node: int, voters: str) -> dict[str, object]:
    return {
        "node.id": node,
        "broker.rack": "abc"[node - 1],
        "controller.quorum.voters": voters,
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "default.replication.factor": 3,
        "min.insync.replicas": 2,
        "offsets.topic.replication.factor": 3,
        "transaction.state.log.replication.factor": 3,
        "transaction.state.log.min.isr": 2,
        "auto.leader.rebalance.enable": "false",
        # Kafka's own bound: an hour.
        "log.message.timestamp.after.max.ms": 3_600_000,
        # Who is dead is noticed soon: the tests wait for it many times.
        "broker.session.timeout.ms": 3_000,
        "broker.heartbeat.interval.ms": 500,
        "controller.quorum.election.timeout.ms": 500,
        "controller.quorum.fetch.timeout.ms": 1_500,
    }


def _ports(number: int) -> list[int]:
    found: list[int] = []
    while len(found) < number:
        port = random.choice(PORTS)
        if port not in found and not is_taken(port):
            found.append(port)
    return found
