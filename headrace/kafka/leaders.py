"""What the leaders of a topic's partitions say of its offsets: while they move, and when truncated.

Kafka counts the leaders of a partition: each has an epoch. Who keeps with an offset the epoch of a
leader whose log reached up to it can ask any later leader where its log parts from that one's.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from headrace.errors import Transient
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from confluent_kafka import Message

ANSWER_LIMIT_S: Final = 5.0
MOVE_LIMIT_S: Final = 60.0
ASK_EVERY_S: Final = 0.1
Question = TypeVar("Question")
Answer = TypeVar("Answer")
_MOVING: Final = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001 - its public name
        KafkaError._TRANSPORT,  # noqa: SLF001 - as above
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.BROKER_NOT_AVAILABLE,
    }
)
NO_EPOCH: Final = -1
COMPARISON_LIMIT_S: Final = 30.0
POLL_S: Final = 0.1
# The client tells in words alone where the logs part.
TRUNCATED: Final = "Partition log truncation detected"
_PARTS_AT: Final = re.compile(r"broker end offset is (-?\d+)")


@dataclass(frozen=True, slots=True)
class TopicEnds:
    """What each partition holds, from the first offset to before the next, and its leader's epoch."""

    spans: Mapping[int, range]
    epochs: Mapping[int, int]

    @property
    def next_offsets(self) -> dict[int, int]:
        """The offset behind the last record of each partition."""
        return {number: span.stop for number, span in self.spans.items()}

    def starting_offsets(self, where: str) -> dict[int, int]:
        """Return the first offset of each partition for `earliest`, the next for `latest`."""
        if where == "latest":
            return self.next_offsets
        return {number: span.start for number, span in self.spans.items()}

    def epochs_at(self, offsets: Mapping[int, int]) -> dict[int, int]:
        """Return `epoch` of an offset for each partition."""
        return {number: self.epoch(number, offset) for number, offset in offsets.items()}

    def epoch(self, partition: int, offset: int) -> int:
        """Return the leader's epoch where its log has all before that offset, else NO_EPOCH."""
        span = self.spans.get(partition)
        has_it = span is not None and offset <= span.stop
        return self.epochs.get(partition, NO_EPOCH) if has_it else NO_EPOCH


def ask(
    question: Callable[[], Mapping[Question, Future[Answer]]],
    hear: Callable[[], object],
    is_known: Callable[[Answer], bool] = lambda _: True,
) -> dict[Question, Answer]:
    """Ask brokers something that changes nothing; while leaders move, or a broker is gone, again.

    The client asks those that it has heard of, and stays with one that is gone: `hear` asks for the
    topics, by which it hears of others. TimeoutError where there is no answer all the same, a
    KafkaException where it is no.
    """
    deadline = time.monotonic() + MOVE_LIMIT_S
    while True:
        try:
            answers = {about: one.result(ANSWER_LIMIT_S) for about, one in question().items()}
            if all(map(is_known, answers.values())):
                return answers
        except TimeoutError:
            if time.monotonic() > deadline:
                raise
        except KafkaException as problem:
            if time.monotonic() > deadline or problem.args[0].code() not in _MOVING:
                raise
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(ASK_EVERY_S)
        hear()


class Reached(NamedTuple):
    """The next offset to read, and the epoch of a leader whose log had all before it."""

    offset: int
    epoch: int = NO_EPOCH


def is_truncation(error: KafkaError) -> bool:
    """Whether the client says that a leader's log parts from what was read before."""
    return TRUNCATED in error.str()


def replaced(
    properties: Mapping[str, str], topic: str, read: Mapping[int, Reached]
) -> dict[int, range]:
    """Return which of the offsets that were read hold other records now, or none.

    The leaders are asked as a consumer asks them that goes on there.
    """
    own = {name: value for name, value in properties.items() if name != "client.rack"}
    consumer = Consumer(
        {
            **quiet(own),
            "group.id": "headrace.truncation",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            # The first record tells as much as all of them.
            "fetch.message.max.bytes": 1024,
            "fetch.wait.max.ms": 50,
        }
    )
    found: dict[int, range] = {}
    try:
        partitions = [
            TopicPartition(topic, number, one.offset, leader_epoch=one.epoch)
            for number, one in read.items()
        ]
        consumer.assign(partitions)
        waiting = set(read)
        deadline = time.monotonic() + COMPARISON_LIMIT_S
        while waiting:
            if time.monotonic() > deadline:
                raise Transient(
                    f"topic {topic} did not answer within {COMPARISON_LIMIT_S:.0f} s whether it"
                    " still has the records that were read"
                )
            message = consumer.poll(POLL_S)
            if message is None:
                continue
            number = message.partition() or 0
            parts_at = _parts_at(topic, message, read[number].offset)
            if parts_at is not None:
                found[number] = range(parts_at, read[number].offset)
            waiting.discard(number)
    except KafkaException as problem:
        raise Transient(f"reading {topic}: {problem.args[0].str()}") from None
    finally:
        consumer.close()
    return found


def _parts_at(topic: str, message: Message, offset: int) -> int | None:
    """Return where the log parts from what was read; None where the next record is the next."""
    error = message.error()
    if error is None:
        return None
    gone = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)  # noqa: SLF001 - its public name
    if is_truncation(error):
        match = _PARTS_AT.search(error.str())
        return min(max(int(match[1]), 0), offset) if match else offset
    # What retention took is reported elsewhere, with its offsets.
    if error.code() in {KafkaError._PARTITION_EOF, *gone}:  # noqa: SLF001 - as above
        return None
    raise Transient(f"reading {topic}-{message.partition()}: {error.str()}")
