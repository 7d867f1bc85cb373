"""Reading ranges of offsets, each record once and none beyond."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Final, Literal, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as ClientMessage

from headrace.errors import Terminal, Transient
from headrace.kafka.headers import with_readable_headers
from headrace.kafka.leaders import is_truncation
from headrace.kafka.refusal import refusal, settings_refused
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from headrace.kafka.message import Message

# Records that are worked on together: few enough to stay in the processor's cache.
CHUNK: Final = 1_000
# The client waits so long for as many records as it is asked for. It is asked for too many where
# offsets hold none, as the ends of transactions do.
POLL_S: Final = 0.01
STALLED_S: Final = 45.0
END_LIMIT_S: Final = 5.0
ANSWER_LIMIT_S: Final = 30.0
HEAR_LIMIT_S: Final = 3.0
LEADER_LIMIT_S: Final = 10.0
LEADER_PAUSE_S: Final = 0.05
FETCH_BYTES: Final = 2**20
# What is fetched beyond a batch is fetched again for the next.
AHEAD_KB: Final = 8 * 1024

_WITHOUT_LEADER: Final = frozenset(
    {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}
)
# What was fetched has both; the client's types also know messages still to be sent.
_partition_of = cast("Callable[[ClientMessage], int]", ClientMessage.partition)
_offset_of = cast("Callable[[ClientMessage], int]", ClientMessage.offset)
_error_of = cast("Callable[[ClientMessage], KafkaError | None]", ClientMessage.error)


class RecordsGone(Transient):
    """Records that were to be read are no longer in the topic."""

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        super().__init__(
            f"{topic}-{partition} no longer has the records that had to be read next",
            "retention or a deletion removed them",
        )


class NotReached(Transient):
    """A range whose end the topic did not give within a bound."""

    def __init__(self, topic: str, missing: Mapping[int, range], ends: Mapping[int, int]) -> None:
        self.missing = dict(missing)
        told = "; ".join(
            f"{topic}-{number} @ {span.start} to {span.stop - 1}"
            + (f" (it ends at {ends[number]})" if number in ends else "")
            for number, span in sorted(missing.items())
        )
        super().__init__(
            f"no records came within {STALLED_S:.0f} s, though the topic had them: {told}",
            "its brokers may be busy or down; if the topic now ends before these offsets, it lost "
            "its newest records (an unclean leader election?)",
        )


class RangeReader:
    """A consumer without a group, told exactly what to read."""

    def __init__(
        self,
        properties: Mapping[str, str],
        isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
    ) -> None:
        self._properties = properties
        self._known: set[str] = set()
        self._consumer = Consumer(
            {
                **quiet(properties),
                # The client wants a name; nothing is subscribed to or committed under it.
                "group.id": "headrace.ranges",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "fetch.message.max.bytes": FETCH_BYTES,
                "queued.max.messages.kbytes": AHEAD_KB,
                # How long a partition rests whose queue is full: by default a whole second.
                "fetch.queue.backoff.ms": 2,
                # What is asked for is there: only the end of a topic is waited for.
                "fetch.wait.max.ms": 5,
            }
        )

    def chunks(
        self, topic: str, ranges: Mapping[int, range]
    ) -> Iterator[tuple[int, Sequence[Message]]]:
        """Yield runs of records, each of one partition and in its order, until all are read."""
        ends = {number: span.stop for number, span in ranges.items() if span}
        nexts = {number: ranges[number].start for number in ends}
        partitions = [TopicPartition(topic, number, start) for number, start in nexts.items()]
        self._hear_of(topic)
        self._consumer.assign(partitions)
        moved_at = time.monotonic()
        try:
            while ends:
                missing = sum(ends[number] - nexts[number] for number in ends)
                messages = self._consumer.consume(min(CHUNK, missing), POLL_S)
                if not messages:
                    if time.monotonic() - moved_at > STALLED_S:
                        raise self._not_reached(topic, ends, nexts)
                    continue
                moved_at = time.monotonic()
                for number, run in _runs(messages):
                    yield from self._wanted(topic, number, run, ends, nexts)
        finally:
            self._consumer.unassign()

    def _hear_of(self, topic: str) -> None:
        """Let the client hear who leads a topic: by itself, it looks once a second."""
        if topic not in self._known:
            self._known.add(topic)
            with contextlib.suppress(KafkaException):
                # Whoever is away now may be there when it is read.
                self._consumer.list_topics(topic, HEAR_LIMIT_S)

    def _raise_refusal(self, topic: str, run: Sequence[ClientMessage]) -> None:
        for error in filter(None, map(_error_of, run)):
            if (refused := refusal(error, self._properties, topic=topic)) is not None:
                raise refused

    def one(self, topic: str, partition: int, offset: int) -> Message:
        """Return a single record once more."""
        for _, messages in self.chunks(topic, {partition: range(offset, offset + 1)}):
            return messages[0]
        raise RecordsGone(topic, partition)

    def some(self, topic: str, positions: Collection[tuple[int, int]]) -> Iterator[Message]:
        """Yield the records at some positions (partition and offset) once more."""
        wanted: dict[int, set[int]] = {}
        for partition, offset in positions:
            wanted.setdefault(partition, set()).add(offset)
        # One read of all that lies between them: to begin a read takes longer than a thousand records.
        ranges = {number: range(min(at), max(at) + 1) for number, at in wanted.items()}
        for number, messages in self.chunks(topic, ranges):
            found = [one for one in messages if one.offset() in wanted[number]]
            wanted[number].difference_update(one.offset() for one in found)
            yield from found
        for number, missing in wanted.items():
            if missing:
                raise RecordsGone(topic, number)

    def span(self, topic: str, partition: int) -> range:
        """Return what a partition holds, as far as this reader may read it."""
        deadline = time.monotonic() + LEADER_LIMIT_S
        while True:
            try:
                at = TopicPartition(topic, partition)
                return range(*self._consumer.get_watermark_offsets(at, ANSWER_LIMIT_S))
            except KafkaException as problem:
                error = problem.args[0]
                if error.code() in _WITHOUT_LEADER and time.monotonic() < deadline:
                    # A new topic's leader takes a moment.
                    time.sleep(LEADER_PAUSE_S)
                    continue
                if (refused := refusal(error, self._properties, topic=topic)) is not None:
                    raise refused from None
                raise Transient(f"topic {topic}: {error.str()}") from None

    def close(self) -> None:
        """Let go of the connections."""
        self._consumer.close()

    def _not_reached(
        self, topic: str, ends: Mapping[int, int], nexts: Mapping[int, int]
    ) -> NotReached:
        there: dict[int, int] = {}
        for number in ends:
            # Only news: who does not answer now either has been told of already.
            with contextlib.suppress(KafkaException):
                partition = TopicPartition(topic, number)
                _, there[number] = self._consumer.get_watermark_offsets(partition, END_LIMIT_S)
        missing = {number: range(nexts[number], end) for number, end in ends.items()}
        return NotReached(topic, missing, there)

    def _wanted(
        self,
        topic: str,
        number: int,
        run: list[ClientMessage],
        ends: dict[int, int],
        nexts: dict[int, int],
    ) -> Iterator[tuple[int, Sequence[Message]]]:
        reached = 0
        if any(map(_error_of, run)):
            self._raise_refusal(topic, run)
            reached = _end_of(topic, number, run)
            run = [message for message in run if message.error() is None]
        end = ends.get(number)
        if end is None:
            return
        if run:
            reached = max(reached, _offset_of(run[-1]) + 1)
        nexts[number] = max(nexts[number], reached)
        if run and nexts[number] > end:
            run = [message for message in run if _offset_of(message) < end]
        # What compaction or a transaction took from the end of a range is never delivered: a
        # record behind it, or an end of the topic there, tells that the range is through. An end
        # before that is only where the broker that was asked is: a follower, or a leader that is
        # new, may be behind what others have told of.
        if nexts[number] >= end:
            del ends[number]
            self._consumer.incremental_unassign([TopicPartition(topic, number)])
        if run:
            yield number, with_readable_headers(run)


def _runs(messages: list[ClientMessage]) -> Iterator[tuple[int, list[ClientMessage]]]:
    """Split messages where the partition changes."""
    numbers = list(map(_partition_of, messages))
    first = numbers[0]
    if numbers.count(first) == len(numbers):
        yield first, messages
        return
    begin = 0
    for at, number in enumerate(numbers):
        if number != numbers[begin]:
            yield numbers[begin], messages[begin:at]
            begin = at
    yield numbers[begin], messages[begin:]


def _end_of(topic: str, number: int, run: list[ClientMessage]) -> int:
    """Return the offset at which the partition ended, 0 where it has not; else raise what was found."""
    end = 0
    for message in run:
        error = message.error()
        if error is None:
            continue
        code = error.code()
        if code == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
            end = max(end, _offset_of(message))
        elif code in {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}:  # noqa: SLF001 - as above
            if is_truncation(error):
                # Whether what was read before is touched, is asked before the next try.
                raise Transient(
                    f"{topic}-{number} lost its newest records while they were read: {error.str()}",
                    "records without an acknowledgement are read again",
                )
            raise RecordsGone(topic, number)
        elif error.fatal():
            raise Terminal(f"reading {topic}-{number}: {error.str()}")
        else:
            raise Transient(f"reading {topic}-{number}: {error.str()}")
    return end


class Readers:
    """Readers of this process, one a cluster, kept between tasks: to connect takes a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[tuple[str, str], ...], list[RangeReader]] = {}
        # OpenSSL's own end, in the client, stumbles over threads that still run by then.
        atexit.register(self._idle.clear)

    @contextlib.contextmanager
    def reader(self, properties: Mapping[str, str]) -> Iterator[RangeReader]:
        """Hold a reader that nobody else uses; it is kept for the next task."""
        with self._lock:
            idle = self._idle.setdefault(tuple(sorted(properties.items())), [])
            reader = idle.pop() if idle else None
        try:
            reader = reader or RangeReader(properties)
        except KafkaException as problem:
            raise settings_refused(problem) from None
        try:
            yield reader
        finally:
            with self._lock:
                idle.append(reader)
