"""One cluster: its topics, their offsets, reading a topic to its end."""

from __future__ import annotations

import re
import time
import weakref
from typing import TYPE_CHECKING, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs forget OffsetSpec
    AdminClient,
    ConfigResource,
    OffsetSpec,
)
from confluent_kafka.cimpl import NewTopic

from headrace.errors import ClusterUnreachable, HeadraceError, Terminal, TopicMissing, Transient
from headrace.kafka.headers import with_readable_headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from headrace.config.workspace import Cluster

METADATA_LIMIT_S = 10.0
CHECK_EVERY_S = 0.05
PARTITION_DEFAULT = -1
NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
NAMES = "a topic's name has letters, digits, dots, _ and -, and 249 of them at most"
Answer = TypeVar("Answer")


def answers(bootstrap_servers: str) -> bool:
    """Whether a broker answers there within a second."""
    admin = AdminClient(quiet({"bootstrap.servers": bootstrap_servers}))
    try:
        return bool(admin.list_topics(timeout=1.0).brokers)
    except KafkaException:
        return False


class KafkaCluster:
    """One cluster of the workspace: its topics and their offsets."""

    def __init__(self, cluster: Cluster) -> None:
        self.name = cluster.name
        self._cluster = cluster
        self._admin = AdminClient(quiet(cluster.client_properties()))
        # OpenSSL's own end, in the client, stumbles over threads that still run by then.
        weakref.finalize(self, self._admin.__exit__, None, None, None)

    def topics(self) -> dict[str, int]:
        """Return all topics with their number of partitions."""
        try:
            found = self._admin.list_topics(timeout=METADATA_LIMIT_S).topics
        except KafkaException as problem:
            raise self._unreachable(problem) from None
        return {name: len(topic.partitions) for name, topic in found.items()}

    def topic_id(self, topic: str) -> str:
        """Return the id that a topic was given when it was made; one made anew has another."""
        described = self._admin.describe_topics(TopicCollection([topic]))[topic]
        try:
            return str(self._answer(described).topic_id)
        except KafkaException as problem:
            raise self._unanswered(topic, problem) from None

    def largest_batch_bytes(self, topic: str) -> int:
        """Return how large a batch of records a topic takes (`max.message.bytes`)."""
        return int(self.settings(topic)["max.message.bytes"])

    def settings(self, topic: str) -> dict[str, str]:
        """Return a topic's settings, with the broker's where it has none of its own."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        described = self._admin.describe_configs([resource])[resource]
        try:
            found = self._answer(described)
        except KafkaException as problem:
            raise self._unanswered(topic, problem) from None
        return {name: one.value for name, one in found.items() if one.value is not None}

    def require_topic(self, topic: str) -> int:
        """Return a topic's number of partitions, or say which topics there are."""
        known = self.topics()
        if topic not in known:
            visible = [name for name in known if not name.startswith("__")]
            raise TopicMissing(topic, self.name, visible)
        return known[topic]

    def ensure_topic(
        self,
        topic: str,
        partitions: int = PARTITION_DEFAULT,
        settings: Mapping[str, str] | None = None,
    ) -> bool:
        """Create a topic where it is missing, by the broker's defaults; whether it was."""
        if topic in self.topics():
            return False
        new = NewTopic(topic, partitions, -1, config=dict(settings or {}))
        future = self._admin.create_topics([new])[topic]
        try:
            self._answer(future)
        except KafkaException as problem:
            # Somebody else created it in between: what was asked for is there.
            refused = problem.args[0]
            if refused.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                is_no_name = NAME.fullmatch(topic) is None
                raise Terminal(
                    f"topic {topic} could not be created on cluster {self.name}: {refused.str()}",
                    NAMES if is_no_name else "create it by hand, or let headrace create topics",
                ) from None
            return False
        self._wait_until_known(topic)
        return True

    def _wait_until_known(self, topic: str) -> None:
        """Wait until a new topic can be asked about: a broker hears of it a moment later."""
        deadline = time.monotonic() + METADATA_LIMIT_S
        while True:
            try:
                self.topic_id(topic)
                self.largest_batch_bytes(topic)
            except HeadraceError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(CHECK_EVERY_S)
            else:
                return

    def delete_topic(self, topic: str) -> None:
        """Delete a topic with all that is in it."""
        self._answer(self._admin.delete_topics([topic])[topic])

    def offsets(self, topic: str) -> dict[int, range]:
        """Return what each partition holds: from the first offset to before the next.

        What stands behind the first transaction that is still open is not there yet.
        """
        partitions = [TopicPartition(topic, number) for number in range(self.require_topic(topic))]
        first = self._list_offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # as above
        following = self._list_offsets(partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]  # as above
        return {number: range(first[number], following[number]) for number in first}

    def earliest(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Return the first offset that each of these partitions still has."""
        places = [TopicPartition(topic, number) for number in partitions]
        return self._list_offsets(places, OffsetSpec.earliest()) if places else {}  # type: ignore[no-untyped-call]  # as above

    def records(self, topic: str) -> Iterable[Message]:
        """Read a topic from its beginning to where it ends now."""
        held = {number: span for number, span in self.offsets(topic).items() if span}
        consumer = Consumer(
            {
                **quiet(self._cluster.client_properties()),
                "group.id": f"headrace.read.{topic}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        try:
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in held])
            while held:
                message = consumer.poll(METADATA_LIMIT_S)
                if message is None:
                    raise Transient(f"topic {topic} on cluster {self.name} stopped answering")
                error = message.error()
                if error is not None:
                    if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
                        raise KafkaException(error)
                    held.pop(message.partition() or 0, None)
                    continue
                yield from with_readable_headers([message])
                number, offset = message.partition() or 0, message.offset() or 0
                if number in held and offset + 1 >= held[number].stop:
                    held.pop(number)
        finally:
            consumer.close()

    def _list_offsets(
        self, partitions: Sequence[TopicPartition], spec: OffsetSpec
    ) -> dict[int, int]:
        asked = self._admin.list_offsets(
            dict.fromkeys(partitions, spec), isolation_level=IsolationLevel.READ_COMMITTED
        )
        try:
            return {place.partition: self._answer(future).offset for place, future in asked.items()}
        except KafkaException as problem:
            raise self._unreachable(problem) from None

    def _answer(self, future: Future[Answer]) -> Answer:
        """Wait for an answer; what the cluster finds wrong with the question is a KafkaException."""
        try:
            return future.result(METADATA_LIMIT_S)
        except TimeoutError:
            reason = f"no answer within {METADATA_LIMIT_S:.0f} s"
            raise ClusterUnreachable(self.name, self._cluster.bootstrap_servers, reason) from None

    def _unanswered(self, topic: str, problem: KafkaException) -> HeadraceError:
        """Return why a question about a topic has no answer: maybe there is no such topic."""
        if problem.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            try:
                self.require_topic(topic)
            except HeadraceError as missing:
                return missing
        return self._unreachable(problem)

    def _unreachable(self, problem: KafkaException) -> ClusterUnreachable:
        reason = problem.args[0].str()
        return ClusterUnreachable(self.name, self._cluster.bootstrap_servers, reason)


def quiet(
    settings: Mapping[str, str],
) -> dict[str, str | int | float | bool]:
    """Keep librdkafka from printing: what fails is raised, and told once."""
    return {"log_level": 0, **settings}
