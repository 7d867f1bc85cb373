"""One cluster: its topics, their offsets, reading a topic to its end."""

from __future__ import annotations

import contextlib
import re
import time
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec  # type: ignore[attr-defined]  # its stubs forget OffsetSpec
from confluent_kafka.cimpl import NewTopic

from headrace.errors import ClusterUnreachable, HeadraceError, Terminal, TopicMissing
from headrace.kafka.leaders import MOVE_LIMIT_S, NO_EPOCH, Reached, TopicEnds, ask, replaced
from headrace.kafka.ranges import RangeReader
from headrace.kafka.refusal import reason_of, refusal, settings_refused
from headrace.kafka.settings import quiet
from headrace.kafka.topic_ids import id_of
from headrace.kafka.topic_maker import TopicMaker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from headrace.config.workspace.workspace import Cluster
    from headrace.kafka.message import Message

METADATA_LIMIT_S = 10.0
# A leader that does not answer by then may have died, and another one be elected by the next try.
LEADER_LIMIT_S = 3.0
# A client that is refused meets that at once, and goes on trying.
LOOK_S = 1.0
CHECK_EVERY_S = 0.05
PARTITION_DEFAULT = -1
# What a partition answers of which all records are older than a time.
NONE_SINCE = -1
NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
NAMES = "a topic's name has letters, digits, dots, _ and -, and 249 of them at most"
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class KafkaCluster:
    """One cluster of the workspace: its topics and their offsets."""

    def __init__(self, cluster: Cluster, topics_for_s: float = 0.0) -> None:
        self.name = cluster.name
        self._cluster = cluster
        # Where many jobs share it, a topic that was there a moment ago is not asked for again.
        self._topics_for_s = topics_for_s
        self._maker = TopicMaker(cluster.client_properties()) if topics_for_s else None
        self._topics: tuple[float, dict[str, int]] = (float("-inf"), {})
        # For an offset of a partition, the newest epoch whose leader has been asked about it.
        self._whole: dict[tuple[str, int], dict[Reached, int]] = {}
        self.properties = cluster.client_properties()
        # What the client meets on its way, and tells nobody who waits for an answer.
        self._met: list[KafkaError] = []
        try:
            settings: dict[str, Any] = {**quiet(self.properties), "error_cb": self._met.append}
            self._admin = AdminClient(settings)
        except KafkaException as problem:
            raise settings_refused(problem, self.name) from None
        # OpenSSL's own end, in the client, stumbles over threads that still run by then.
        weakref.finalize(self, self._admin.__exit__, None, None, None)

    def topics(self) -> dict[str, int]:
        """Return all topics with their number of partitions."""
        found = self._all_topics()
        self._topics = (time.monotonic(), found)
        return found

    def _topics_lately(self) -> dict[str, int]:
        """Return all topics, as they were a moment ago where they are known."""
        is_new = time.monotonic() - self._topics[0] <= self._topics_for_s
        return self._topics[1] if is_new else self.topics()

    @property
    def admin(self) -> AdminClient:
        """The client itself, for questions about many topics or groups."""
        return self._admin

    def _all_topics(self) -> dict[str, int]:
        # What was met before this question is no answer to it.
        self._admin.poll(0)
        self._met.clear()
        deadline = time.monotonic() + METADATA_LIMIT_S
        while True:
            try:
                found = self._admin.list_topics(timeout=LOOK_S).topics
            except KafkaException as problem:
                unreachable = self._unreachable(problem)
                if isinstance(unreachable, Terminal) or time.monotonic() > deadline:
                    raise unreachable from None
            else:
                return {name: len(topic.partitions) for name, topic in found.items()}

    def topic_id(self, topic: str) -> str:
        """Return the id that a topic was given when it was created; one re-created has another."""
        wanted = TopicCollection([topic])
        found = self._ask(
            topic, lambda: self._admin.describe_topics(wanted, request_timeout=LEADER_LIMIT_S)
        )
        return id_of(found[topic])

    def replication(self, topic: str) -> int:
        """Return how many copies of a topic its brokers keep: of its partitions, the most."""
        wanted = TopicCollection([topic])
        found = self._ask(
            topic, lambda: self._admin.describe_topics(wanted, request_timeout=LEADER_LIMIT_S)
        )
        return max(len(one.replicas) for one in found[topic].partitions)

    def largest_batch_bytes(self, topic: str) -> int:
        """Return how large a batch of records a topic takes (`max.message.bytes`)."""
        return int(self.settings(topic)["max.message.bytes"])

    def settings(self, topic: str) -> dict[str, str]:
        """Return a topic's settings, with the broker's where it has none of its own."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        found = self._ask(
            topic, lambda: self._admin.describe_configs([resource], request_timeout=LEADER_LIMIT_S)
        )
        return {name: one.value for name, one in found[resource].items() if one.value is not None}

    def _ask(
        self,
        topic: str,
        question: Callable[[], Mapping[Question, Future[Answer]]],
        is_known: Callable[[Answer], bool] = lambda _: True,
    ) -> dict[Question, Answer]:
        """Ask something about a topic that changes nothing."""
        try:
            return ask(question, self.topics, is_known)
        except KafkaException as problem:
            raise self._unanswered(topic, problem) from None
        except TimeoutError:
            raise self._silent(MOVE_LIMIT_S) from None

    def require_topic(self, topic: str) -> int:
        """Return a topic's number of partitions, or say which topics there are."""
        known = self._topics_lately()
        known = known if topic in known else self.topics()
        if topic not in known:
            self._refuse_hidden(topic)
            visible = [name for name in known if not name.startswith("__")]
            raise TopicMissing(topic, self.name, visible)
        return known[topic]

    def _refuse_hidden(self, topic: str) -> None:
        """Say that a topic may not be seen: in a list of all, the broker leaves it out."""
        described = self._admin.describe_topics(TopicCollection([topic]))[topic]
        try:
            self._answer(described)
        except KafkaException as problem:
            refused = refusal(problem.args[0], self.properties, self.name, topic)
            if refused is not None:
                raise refused from None

    def ensure_topic(
        self,
        topic: str,
        partitions: int = PARTITION_DEFAULT,
        settings: Mapping[str, str] | None = None,
    ) -> bool:
        """Create a topic where it is missing, by the broker's defaults; whether it was."""
        if topic in self._topics_lately():
            return False
        new = NewTopic(topic, partitions, -1, config=dict(settings or {}))
        if self._maker is None:
            future = self._admin.create_topics([new])[topic]
        else:
            future = self._maker.make(new)
        try:
            self._answer(future)
        except KafkaException as problem:
            refused = problem.args[0]
            if refused.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                # Somebody else created it in between: what was asked for is there.
                self._wait_until_known(topic)
                return False
            hidden = refusal(refused, self.properties, self.name, topic)
            if hidden is not None:
                raise hidden from None
            by_hand = "create it by hand, or allow headrace's user to create topics"
            raise Terminal(
                f"topic {topic} could not be created on cluster {self.name}: {refused.str()}",
                by_hand if NAME.fullmatch(topic) else NAMES,
            ) from None
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
        return dict(self.ends(topic).spans)

    def ends(self, topic: str) -> TopicEnds:
        """Return the same, and the epoch of each partition's leader."""
        partitions = self.require_topic(topic)
        first = self._list_offsets(topic, partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # as above
        following = self._list_offsets(topic, partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]  # as above
        spans = {number: range(first[number].offset, following[number].offset) for number in first}
        return TopicEnds(spans, {number: one.epoch for number, one in following.items()})

    def offsets_since(self, topic: str, time_ms: int) -> dict[int, int]:
        """Return the first offset of each partition whose record is no older; none where all are."""
        spec = OffsetSpec.for_timestamp(time_ms)
        found = self._list_offsets(topic, self.require_topic(topic), spec, least=NONE_SINCE)
        return {number: one.offset for number, one in found.items() if one.offset >= 0}

    def replaced(
        self, topic: str, read: Mapping[int, Reached], ends: TopicEnds
    ) -> dict[int, range]:
        """Return which offsets that were read hold other records now, or none, by partition.

        Only a new leader can have brought that about: nobody else is asked.
        """
        asked = {
            number: one
            for number, one in read.items()
            if one.epoch != NO_EPOCH
            and ends.epochs.get(number, NO_EPOCH)
            > self._whole.get((topic, number), {}).get(one, one.epoch)
        }
        if not asked:
            return {}
        found = replaced(self.properties, topic, asked)
        for number, one in asked.items():
            if number not in found:
                self._whole[topic, number] = {one: ends.epochs[number]}
        return found

    def records(self, topic: str) -> Iterable[Message]:
        """Read a topic from its beginning to where it ends now."""
        with contextlib.closing(RangeReader(self.properties)) as reader:
            for _, messages in reader.chunks(topic, self.offsets(topic)):
                yield from messages

    def _list_offsets(
        self, topic: str, partitions: int, spec: OffsetSpec, *, least: int = 0
    ) -> dict[int, Reached]:
        """Return an offset of each partition as its leader tells it, and the leader's epoch."""
        asked = {TopicPartition(topic, number): spec for number in range(partitions)}
        answers = self._ask(
            topic,
            lambda: self._admin.list_offsets(
                asked,
                isolation_level=IsolationLevel.READ_COMMITTED,
                request_timeout=LEADER_LIMIT_S,
            ),
            # Of a partition without a leader the client says -1001, and no error.
            lambda one: one.offset >= least,
        )
        return {
            at.partition: Reached(
                one.offset, NO_EPOCH if one.leader_epoch is None else one.leader_epoch
            )
            for at, one in answers.items()
        }

    def _answer(self, future: Future[Answer]) -> Answer:
        """Wait for an answer; what the cluster finds wrong with the question is a KafkaException."""
        try:
            return future.result(METADATA_LIMIT_S)
        except TimeoutError:
            raise self._refusal() or self._silent(METADATA_LIMIT_S) from None

    def _unanswered(self, topic: str, problem: KafkaException) -> HeadraceError:
        """Return why a question about a topic has no answer: maybe there is no such topic."""
        refused = refusal(problem.args[0], self.properties, self.name, topic)
        if refused is not None:
            return refused
        if problem.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            try:
                self.require_topic(topic)
            except HeadraceError as missing:
                return missing
        return self._unreachable(problem)

    def _silent(self, limit_s: float) -> ClusterUnreachable:
        reason = f"no answer within {limit_s:.0f} s"
        return ClusterUnreachable(self.name, self._cluster.bootstrap_servers, reason)

    def _refusal(self, *more: KafkaError) -> Terminal | None:
        """Return why the cluster does not let this client in, if that is what it met."""
        self._admin.poll(0)
        refusals = (refusal(one, self.properties, self.name) for one in (*more, *self._met))
        return next((one for one in refusals if one is not None), None)

    def _unreachable(self, problem: KafkaException) -> HeadraceError:
        if (refused := self._refusal(problem.args[0])) is not None:
            return refused
        # That all brokers are down is no cause.
        causes = [one for one in self._met if one.code() != KafkaError._ALL_BROKERS_DOWN]  # noqa: SLF001 - its public name
        reason = reason_of(next(iter(causes), problem.args[0]))
        return ClusterUnreachable(self.name, self._cluster.bootstrap_servers, reason)
