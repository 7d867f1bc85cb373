"""What a task of a live source does: fetch its offsets, decode, turn bad records away."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from headrace.application import turned_away
from headrace.contract import METADATA
from headrace.errors import Terminal
from headrace.kafka.bulk import Producers
from headrace.kafka.quarantine import READING, Quarantine
from headrace.kafka.ranges import Readers, offset_of
from headrace.records.ahead import arrivals, hold_back
from headrace.records.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from headrace.application.live_plan import LivePlan
    from headrace.application.places import Stretch
    from headrace.records.columns import Bad

# Spark's Python workers live on between tasks, and so do connections and compiled decoders.
_readers: Final = Readers()
_producers: Final = Producers()
_columns: Final[dict[tuple[str, str], Columns]] = {}


def read(plan: LivePlan, stretches: Sequence[Stretch]) -> Iterator[pa.RecordBatch]:
    """Yield the good records of these offsets, those of a partition in its order.

    The bad ones are in the quarantine when the last batch has been taken.
    """
    task = _Task(plan)
    for topic in dict.fromkeys(one.topic for one in stretches):
        ranges = {
            one.partition: range(one.start, one.end) for one in stretches if one.topic == topic
        }
        yield from task.rows(topic, ranges)
    task.end(str(sorted(stretches)))


class _Task:
    def __init__(self, plan: LivePlan) -> None:
        self._plan = plan
        self._counts: Counter[str] = Counter()
        self._quarantines: dict[str, Quarantine] = {}

    def rows(self, topic: str, ranges: dict[int, range]) -> Iterator[pa.RecordBatch]:
        """Yield the good records of a topic."""
        columns = _columns_of(self._plan, topic)
        reader = _readers.take(self._plan.properties)
        try:
            for number, messages in reader.chunks(topic, ranges):
                batch, _, bad = columns(messages, number)
                self._turn_away(topic, bad)
                kept = self._hold_back(topic, batch, messages)
                if kept.num_rows:
                    yield kept
        finally:
            _readers.give_back(self._plan.properties, reader)

    def end(self, work: str) -> None:
        """Wait until the bad records are kept, then count them."""
        for kept in self._quarantines.values():
            for one in kept.producer.flush():
                raise kept.refused(one.reason)
        turned_away.keep(self._plan.folder, work, self._counts)

    def _turn_away(self, topic: str, bad: Sequence[Bad]) -> None:
        for message, broken in bad:
            if broken.action == "fail":
                place = f"{topic}-{message.partition()} @ {message.offset()}"
                raise Terminal(
                    f"{self._plan.reader} stops at a bad record: {place}: {broken.reason}",
                    "mend or skip it, or choose on_bad_record: quarantine",
                )
            if broken.action == "quarantine":
                kept = self._quarantine(topic)
                kept.add(message, READING, broken.reason, self._plan.reader)
            self._counts["dropped" if broken.action == "drop" else "quarantined"] += 1

    def _hold_back(
        self, topic: str, batch: pa.RecordBatch, messages: Sequence[Any]
    ) -> pa.RecordBatch:
        ahead = self._plan.ahead
        if ahead is None:
            return batch
        held = hold_back(batch, ahead, arrivals(batch))
        self._counts["ahead"] += len(held.rows)
        if held.rows and ahead.action == "quarantine":
            offsets = pc.struct_field(batch.column(METADATA), "offset").take(held.rows).to_pylist()
            by_offset = {offset_of(message): message for message in messages}
            for offset in offsets:
                reason = f"{ahead.column} is too far ahead of its arrival"
                self._quarantine(topic).add(by_offset[offset], READING, reason, self._plan.reader)
        return held.batch

    def _quarantine(self, topic: str) -> Quarantine:
        if topic not in self._quarantines:
            target, way = self._plan.quarantines[topic]
            self._quarantines[topic] = Quarantine(_producers.get(way), target)
        return self._quarantines[topic]


def _columns_of(plan: LivePlan, topic: str) -> Columns:
    key = plan.values.id, topic
    if key not in _columns:
        _columns[key] = Columns(plan.values, topic, plan.region, plan.columns)
    return _columns[key]
