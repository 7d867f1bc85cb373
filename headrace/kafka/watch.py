"""Asks a cluster for the ends of the topics of many jobs, in one question for all."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from confluent_kafka import Consumer, KafkaException, TopicCollection, TopicPartition

from headrace.errors import HeadraceError
from headrace.kafka.leaders import NO_EPOCH, TopicEnds
from headrace.kafka.settings import quiet
from headrace.kafka.topic_ids import id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from headrace.kafka.cluster import KafkaCluster

Answer = TypeVar("Answer")
# Jobs that are due at the same moment ask together.
GATHER_S: Final = 0.01
ANSWER_LIMIT_S: Final = 3.0
WAIT_LIMIT_S: Final = 10.0
# The client looks for each answer among all that were asked for: twice as many cost four times as much.
MOST_AT_ONCE: Final = 250
# A partition that is new is seen after so long.
PARTITIONS_FOR_S: Final = 5.0
MISSING_FOR_S: Final = 1.0
# As Kafka's protocol names the two ends of a partition.
LATEST: Final = -1
EARLIEST: Final = -2


class Unanswered(Exception):
    """The shared question has no answer for a topic: ask for it alone, and get the reason."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The next offset of each partition; None where the cluster did not say."""

    asked_at_s: float
    next_offsets: Mapping[int, int] | None


@dataclass(frozen=True, slots=True)
class TopicState:
    """What a topic holds, and its id. The id was asked for after the offsets."""

    asked_at_s: float
    ends: TopicEnds
    topic_id: str


class ClusterWatch:
    """Asks for the ends and the state of topics, when a job wants them.

    A job does not wait: if the answer is not known yet, it is there a moment later.
    """

    def __init__(self, kafka: KafkaCluster) -> None:
        self._kafka = kafka
        self._wanted: set[str] = set()
        self._wanted_whole: set[str] = set()
        self._ends: dict[str, Ends] = {}
        self._states: dict[str, tuple[float, TopicState | None]] = {}
        self._partitions: Mapping[str, int] = {}
        self._partitions_at_s = float("-inf")
        self._woken = threading.Event()
        self._seen = threading.Condition()
        self._consumer: Consumer | None = None
        self._is_running = False
        self._closed = False
        self.questions = 0
        # How long the last answer about the ends of topics took.
        self.answers_in_s = 0.0

    def next_offsets(self, topic: str, since_s: float) -> Mapping[int, int] | None:
        """Return where a topic ends, as asked since then; None where that is not known yet.

        Raises Unanswered where the cluster did not say.
        """
        found = self._ends.get(topic)
        if found is None or found.asked_at_s < since_s:
            self._wanted.add(topic)
            self._wake()
            return None
        if found.next_offsets is None:
            raise Unanswered
        return found.next_offsets

    def state(self, topic: str, since_s: float) -> TopicState | None:
        """Return what a topic holds, under the same terms."""
        asked_at_s, found = self._states.get(topic, (float("-inf"), None))
        if asked_at_s < since_s:
            self._wanted_whole.add(topic)
            self._wake()
            return None
        if found is None:
            raise Unanswered
        return found

    def last_state(self, topic: str, within_s: float) -> TopicState | None:
        """Return the last state that was asked for, if that is not longer ago."""
        asked_at_s, found = self._states.get(topic, (float("-inf"), None))
        return found if time.monotonic() - asked_at_s <= within_s else None

    def wait_for_state(self, topic: str) -> TopicState | None:
        """Return what a topic holds now, asked together with others; None where there is no answer."""
        since_s = time.monotonic()
        with self._seen, contextlib.suppress(Unanswered):
            while (found := self.state(topic, since_s)) is None:
                if not self._seen.wait(WAIT_LIMIT_S):
                    return None
            return found
        return None

    def close(self) -> None:
        """Ask no more."""
        self._closed = True
        self._woken.set()

    def _wake(self) -> None:
        if not self._is_running:
            self._is_running = True
            threading.Thread(target=self._work, name="asks for ends", daemon=True).start()
        self._woken.set()

    def _work(self) -> None:
        while not self._closed:
            self._woken.wait()
            time.sleep(GATHER_S)
            self._woken.clear()
            wanted, self._wanted = self._wanted, set()
            whole, self._wanted_whole = self._wanted_whole, set()
            if wanted:
                self._see_ends(wanted)
            if whole:
                self._see_whole(whole)
                with self._seen:
                    self._seen.notify_all()
        if self._consumer is not None:
            self._consumer.close()

    def _see_ends(self, topics: Collection[str]) -> None:
        at_s = time.monotonic()
        found = self._answered(lambda: self._offsets(topics, LATEST))
        for topic in topics:
            latest = found.get(topic)
            nexts = None if latest is None else {one: at for one, (at, _) in latest.items()}
            self._ends[topic] = Ends(at_s, nexts)
        self.answers_in_s = GATHER_S + time.monotonic() - at_s

    def _see_whole(self, topics: Collection[str]) -> None:
        at_s = time.monotonic()
        first = self._answered(lambda: self._offsets(topics, EARLIEST))
        latest = self._answered(lambda: self._offsets(first, LATEST))
        ids = self._answered(lambda: self._ids(latest)) if latest else {}
        for topic in topics:
            if topic not in ids or first[topic].keys() != latest[topic].keys():
                self._states[topic] = (at_s, None)
                continue
            spans = {
                number: range(first[topic][number][0], at)
                for number, (at, _) in latest[topic].items()
            }
            epochs = {number: epoch for number, (_, epoch) in latest[topic].items()}
            self._states[topic] = (at_s, TopicState(at_s, TopicEnds(spans, epochs), ids[topic]))

    def _answered(self, question: Callable[[], dict[str, Answer]]) -> dict[str, Answer]:
        """Return the answers; none where the cluster is away: each who needs one finds out why."""
        self.questions += 1
        try:
            return question()
        except (KafkaException, HeadraceError, TimeoutError):
            return {}
        except RuntimeError:
            # At the end of the process its clients are closed.
            self._closed = True
            return {}

    def _offsets(
        self, topics: Collection[str], which: int
    ) -> dict[str, dict[int, tuple[int, int]]]:
        """Return an offset of each partition and its leader's epoch; of topics that are known whole."""
        numbers = self._known(topics)
        asked = [
            TopicPartition(topic, number, which)
            for topic in topics
            for number in range(numbers.get(topic, 0))
        ]
        if not asked:
            return {}
        found: dict[str, dict[int, tuple[int, int]]] = {}
        broken: set[str] = set()
        for one in self._answers(asked):
            if one.error is not None or one.offset < 0:
                broken.add(one.topic)
            epoch = NO_EPOCH if one.leader_epoch is None else one.leader_epoch
            found.setdefault(one.topic, {})[one.partition] = one.offset, epoch
        return {topic: of for topic, of in found.items() if topic not in broken}

    def _answers(self, asked: list[TopicPartition]) -> list[TopicPartition]:
        asker = self._asker()
        return [
            answer
            for first in range(0, len(asked), MOST_AT_ONCE)
            for answer in asker.offsets_for_times(
                asked[first : first + MOST_AT_ONCE], ANSWER_LIMIT_S
            )
        ]

    def _ids(self, topics: Collection[str]) -> dict[str, str]:
        asked = self._kafka.admin.describe_topics(
            TopicCollection(list(topics)), request_timeout=ANSWER_LIMIT_S
        )
        found = {}
        for topic, answer in asked.items():
            with contextlib.suppress(KafkaException):
                found[topic] = id_of(answer.result(2 * ANSWER_LIMIT_S))
        return found

    def _known(self, topics: Collection[str]) -> Mapping[str, int]:
        age_s = time.monotonic() - self._partitions_at_s
        missing = any(one not in self._partitions for one in topics)
        if age_s > PARTITIONS_FOR_S or (missing and age_s > MISSING_FOR_S):
            self._partitions = self._kafka.topics()
            self._partitions_at_s = time.monotonic()
        return self._partitions

    def _asker(self) -> Consumer:
        if self._consumer is None:
            self._consumer = Consumer(
                {
                    **quiet(self._kafka.properties),
                    # The client wants a name; nothing is subscribed to or committed under it.
                    "group.id": "headrace.watch",
                    "enable.auto.commit": False,
                    "isolation.level": "read_committed",
                }
            )
            # OpenSSL's own end, in the client, stumbles over threads that still run by then.
            weakref.finalize(self, self._consumer.close)
        return self._consumer
