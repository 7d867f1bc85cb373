"""A task of a live source: what it has to know, and its work (fetch, decode, reject bad records)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from headrace.application.ahead_of_time import hold_back
from headrace.application.rejected_counts import store_counts
from headrace.contract import INGESTION_TS, METADATA, with_metadata
from headrace.kafka.bulk import Producers
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.quarantine import BadRecords, quarantine_settings
from headrace.kafka.ranges import Readers
from headrace.landing.record_columns import RecordColumns
from headrace.records.arrow import times_of
from headrace.schema.arrow import for_spark, to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from headrace.application.ahead_of_time import Ahead
    from headrace.config.app.file import KafkaTopics
    from headrace.config.workspace.workspace import Cluster, Workspace
    from headrace.jvm.relay import RelayAddress
    from headrace.kafka.bulk import ProducerSettings
    from headrace.kafka.message import Message
    from headrace.kafka.positions import TopicRange
    from headrace.landing.topic_values import Values

# Spark's Python workers live on between tasks, and so do connections and compiled decoders.
_readers: Final = Readers()
_producers: Final = Producers()
_columns: Final[dict[tuple[str, str], RecordColumns]] = {}


@dataclass(frozen=True, slots=True)
class LivePlan:
    """One live source of an application. `quarantines` has a topic and how to produce to it, by topic.

    `reader` is what its bad records say that they were met by, `folder` where tasks keep how many
    they met: on the driver's disk, which tasks elsewhere reach by the `relay`.
    A batch is shared out among so many `tasks`.
    """

    reader: str
    topics: tuple[str, ...]
    properties: Mapping[str, str]
    region: str | None
    values: Values
    quarantines: Mapping[str, tuple[str, ProducerSettings]]
    folder: Path
    ahead: Ahead | None
    relay: RelayAddress | None = None
    tasks: int = 1

    def __repr__(self) -> str:
        # Properties may hold a password.
        return f"LivePlan({self.reader})"

    @property
    def columns(self) -> pa.Schema:
        """The columns that Spark is given."""
        return for_spark(to_arrow(with_metadata(self.values.schema)))


def quarantines_of(
    workspace: Workspace, cluster: Cluster, source: KafkaTopics, ahead: Ahead | None
) -> dict[str, tuple[str, ProducerSettings]]:
    """Return the quarantine of each topic; those that are missing are made."""
    fates = {source.hygiene.on_bad_record, source.hygiene.tombstones, ahead and ahead.action}
    if "quarantine" not in fates:
        return {}
    kafka, named = KafkaCluster(cluster), source.hygiene.quarantine
    target = kafka if named is None else KafkaCluster(workspace.cluster(named.cluster))
    names = {one: f"{one}.quarantine" if named is None else named.topic for one in source.topics}
    return {
        topic: (name, quarantine_settings(target, name, kafka.settings(topic)))
        for topic, name in names.items()
    }


def read(plan: LivePlan, stretches: Sequence[TopicRange]) -> Iterator[pa.RecordBatch]:
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
        self._bad: dict[str, BadRecords] = {}

    def rows(self, topic: str, ranges: dict[int, range]) -> Iterator[pa.RecordBatch]:
        """Yield the good records of a topic."""
        columns = _columns_of(self._plan, topic)
        with _readers.reader(self._plan.properties) as reader:
            for number, messages in reader.chunks(topic, ranges):
                batch, _, bad = columns(messages, number)
                self._bad_of(topic).reject(bad)
                kept = self._hold_back(topic, batch, messages)
                if kept.num_rows:
                    yield kept

    def end(self, work: str) -> None:
        """Wait until the bad records are kept, then count them."""
        for bad in self._bad.values():
            bad.flush()
            # Only what there was: a count of none is no news to whoever reads them.
            self._counts.update(+Counter(quarantined=bad.quarantined, dropped=bad.dropped))
        store_counts(self._plan.folder, work, self._counts, self._plan.relay)

    def _hold_back(
        self, topic: str, batch: pa.RecordBatch, messages: Sequence[Message]
    ) -> pa.RecordBatch:
        ahead = self._plan.ahead
        if ahead is None:
            return batch
        held = hold_back(batch, ahead, times_of(batch, INGESTION_TS))
        self._counts["ahead"] += len(held.rows)
        if held.rows and ahead.action == "quarantine":
            offsets = pc.struct_field(batch.column(METADATA), "offset").take(held.rows).to_pylist()
            by_offset = {message.offset(): message for message in messages}
            for offset in offsets:
                reason = f"{ahead.column} is too far ahead of its arrival"
                self._bad_of(topic).quarantine(by_offset[offset], reason)
        return held.batch

    def _bad_of(self, topic: str) -> BadRecords:
        if topic not in self._bad:
            reader, target = self._plan.reader, self._plan.quarantines.get(topic)
            self._bad[topic] = BadRecords(reader, reader, target, _producers)
        return self._bad[topic]


def _columns_of(plan: LivePlan, topic: str) -> RecordColumns:
    key = plan.values.id, topic
    if key not in _columns:
        _columns[key] = RecordColumns(plan.values, topic, plan.region, plan.columns)
    return _columns[key]
