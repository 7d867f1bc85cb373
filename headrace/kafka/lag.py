"""How far a reader is behind its topic: in records, and in time."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.kafka.ranges import RangeReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.kafka.cluster import KafkaCluster

# Where offsets hold no record (compaction, transactions), one is looked for among so many.
LOOKED_AT: Final = 500


@dataclass(frozen=True, slots=True)
class Lag:
    """Records that were not read, and up to when all were, by the records' own times.

    `complete_up_to_us` is None where nobody can tell. `ends` are the next offsets of one topic.
    """

    records: int
    complete_up_to_us: int | None
    ends: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of_all(cls, lags: Iterable[Lag]) -> Lag:
        """Return the lag of who reads several topics."""
        whole = list(lags)
        times = [one.complete_up_to_us for one in whole]
        known = [one for one in times if one is not None]
        complete = min(known) if known and len(known) == len(times) else None
        return cls(sum(one.records for one in whole), complete)


def lag_of(kafka: KafkaCluster, topic: str, positions: Mapping[int, int]) -> Lag:
    """Return how far behind these next offsets the topic goes; one that is not there is 0."""
    now_us = time.time_ns() // 1_000
    spans = kafka.offsets(topic)
    firsts = {number: max(span.start, positions.get(number, 0)) for number, span in spans.items()}
    unread = {
        number: range(firsts[number], span.stop)
        for number, span in spans.items()
        if firsts[number] < span.stop
    }
    records = sum(map(len, unread.values()))
    complete_us = _oldest_us(kafka, topic, unread) if unread else now_us
    return Lag(records, complete_us, {number: span.stop for number, span in spans.items()})


def _oldest_us(kafka: KafkaCluster, topic: str, unread: Mapping[int, range]) -> int | None:
    """Return the time of the oldest record that was not read."""
    times_ms = []
    with contextlib.closing(RangeReader(kafka.properties)) as reader:
        for number, span in unread.items():
            some = {number: span[:LOOKED_AT]}
            first = next(
                (messages[0] for _, messages in reader.chunks(topic, some) if messages), None
            )
            if first is None or first.timestamp()[1] < 0:
                return None
            times_ms.append(first.timestamp()[1])
    return min(times_ms) * 1_000
