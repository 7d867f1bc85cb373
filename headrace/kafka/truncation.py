"""Topics that were truncated: a leader without their newest records was elected, and wrote others.

Kafka counts the leaders of a partition: each has an epoch. Who keeps with an offset the epoch of a
leader whose log reached up to it can ask any later leader where its log parts from that one's.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from headrace.errors import Terminal, Transient
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import Message

NO_EPOCH: Final = -1
ANSWER_LIMIT_S: Final = 30.0
POLL_S: Final = 0.1
# The client tells in words alone where the logs part.
TRUNCATED: Final = "Partition log truncation detected"
_PARTS_AT: Final = re.compile(r"broker end offset is (-?\d+)")


class Reached(NamedTuple):
    """The next offset to read, and the epoch of a leader whose log had all before it."""

    offset: int
    epoch: int = NO_EPOCH


class TopicTruncated(Terminal):
    """Offsets that were read already, and whose records are others now."""

    def __init__(self, who: str, topic: str, replaced: Mapping[int, range], advice: str) -> None:
        self.replaced = dict(replaced)
        told = "; ".join(
            f"{topic}-{number} was read up to {span.stop}, and since {span.start} its records are"
            " others now"
            for number, span in sorted(replaced.items())
        )
        super().__init__(
            f"{who}: the topic lost records that were read already: {told}",
            f"a leader that lacked them was elected (unclean.leader.election.enable?). {advice}",
        )


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
        places = [
            TopicPartition(topic, number, one.offset, leader_epoch=one.epoch)
            for number, one in read.items()
        ]
        consumer.assign(places)
        waiting = set(read)
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while waiting:
            if time.monotonic() > deadline:
                raise Transient(
                    f"topic {topic} did not say within {ANSWER_LIMIT_S:.0f} s whether it still has"
                    " what was read of it"
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
        told = _PARTS_AT.search(error.str())
        return min(max(int(told[1]), 0), offset) if told else offset
    # What retention took is told of elsewhere, with its offsets.
    if error.code() in {KafkaError._PARTITION_EOF, *gone}:  # noqa: SLF001 - as above
        return None
    raise Transient(f"reading {topic}-{message.partition()}: {error.str()}")
