"""What the leaders of a topic's partitions say of its offsets, also while they move."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition

from headrace.kafka.truncation import NO_EPOCH, Reached

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs forget them
        AdminClient,
        ListOffsetsResultInfo,
        OffsetSpec,
    )

# A leader that does not answer by then may have died, and another one be elected by the next try.
LEADER_LIMIT_S: Final = 3.0
ANSWER_LIMIT_S: Final = 5.0
MOVE_LIMIT_S: Final = 60.0
ASK_EVERY_S: Final = 0.1
Asked = TypeVar("Asked")
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


@dataclass(frozen=True, slots=True)
class TopicEnds:
    """What each partition holds, from the first offset to before the next, and its leader's epoch."""

    spans: Mapping[int, range]
    epochs: Mapping[int, int]

    def epoch(self, partition: int, offset: int) -> int:
        """Return the leader's epoch where its log has all before that offset, else NO_EPOCH."""
        span = self.spans.get(partition)
        has_it = span is not None and offset <= span.stop
        return self.epochs.get(partition, NO_EPOCH) if has_it else NO_EPOCH


def ask(
    question: Callable[[], Mapping[Asked, Future[Answer]]],
    hear: Callable[[], object],
    is_known: Callable[[Answer], bool] = lambda _: True,
) -> dict[Asked, Answer]:
    """Ask brokers something that changes nothing; while leaders move, or a broker is gone, again.

    The client asks those that it has heard of, and stays with one that is gone: `hear` asks for the
    topics, by which it hears of others. TimeoutError where there is no answer all the same, a
    KafkaException where it is no.
    """
    deadline = time.monotonic() + MOVE_LIMIT_S
    while True:
        try:
            told = {about: one.result(ANSWER_LIMIT_S) for about, one in question().items()}
            if all(map(is_known, told.values())):
                return told
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


def ask_leaders(
    admin: AdminClient,
    partitions: Sequence[TopicPartition],
    spec: OffsetSpec,
    hear: Callable[[], object],
) -> dict[int, Reached]:
    """Return an offset of each partition as its leader tells it, and the leader's epoch."""
    told = ask(
        lambda: admin.list_offsets(
            dict.fromkeys(partitions, spec),
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=LEADER_LIMIT_S,
        ),
        hear,
        # Of a partition without a leader the client says -1001, and no error.
        lambda one: one.offset >= 0,
    )
    return {place.partition: _reached(one) for place, one in told.items()}


def _reached(told: ListOffsetsResultInfo) -> Reached:
    return Reached(told.offset, NO_EPOCH if told.leader_epoch is None else told.leader_epoch)
