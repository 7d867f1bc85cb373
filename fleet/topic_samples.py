"""The newest records of a topic, as many as a form needs: read once, and kept for a minute."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fleet.quarantine_rows import newest_of
from fleet.quarantine_samples import shown
from headrace.config.common.topic_pattern import is_internal
from headrace.errors import TopicMissing, UsageError
from headrace.http.new_stream_rows import TopicRecord, TopicSample
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.message import GivenMessage, position_of
from headrace.kafka.ranges import RangeReader
from headrace.records.decoding import NO_TIME_MS
from headrace.records.json.inferring import looks_like_avro
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.config.workspace.workspace import Cluster
    from headrace.kafka.message import Message

MOST_RECORDS: Final = 100
MOST_BYTES: Final = 2 * 2**20
MOST_S: Final = 5.0
KEPT_FOR_S: Final = 60.0
MOST_KEPT: Final = 8
MOST_TOPICS: Final = 2_000
SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Sampled:
    """Records as they were read, the newest first, and how many offsets the topic holds."""

    records: Sequence[GivenMessage] = ()
    held: int = 0

    @property
    def format(self) -> str:
        """How the values are encoded, as far as it can be told."""
        values = [value for one in self.records if (value := one.value())]
        is_avro = bool(values) and all(map(looks_like_avro, values))
        return "avro" if is_avro else "json"


class TopicSamples:
    """Samples of topics, for all who have a form open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[float, Sampled]] = OrderedDict()

    def of(self, cluster: Cluster, topic: str, *, fresh: bool = False) -> Sampled:
        """Return a topic's newest records; HeadraceError says why there is no such topic."""
        key = cluster.name, topic
        with self._lock:
            at_s, known = self._kept.get(key, (float("-inf"), Sampled()))
        if not fresh and time.monotonic() - at_s < KEPT_FOR_S:
            return known
        found = read_newest(cluster, topic)
        with self._lock:
            self._kept[key] = time.monotonic(), found
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found


def topics_of(cluster: Cluster) -> list[str]:
    """Return the topics that a stream may read, by name."""
    names = sorted(one for one in KafkaCluster(cluster).topics() if not is_internal(one))
    return names[:MOST_TOPICS]


def read_newest(cluster: Cluster, topic: str) -> Sampled:
    """Read the newest records of a topic, bounded in number, bytes and time."""
    if is_internal(topic):
        raise UsageError(f"{topic} is a topic of Kafka or of headrace itself", "choose another one")
    kafka = KafkaCluster(cluster)
    known = kafka.topics()
    if topic not in known:
        raise TopicMissing(topic, cluster.name, [one for one in known if not is_internal(one)])
    spans = kafka.offsets(topic)
    found: list[GivenMessage] = []
    left_bytes, until_s = MOST_BYTES, time.monotonic() + MOST_S
    with closing(RangeReader(kafka.properties)) as reader:
        for _, messages in reader.chunks(topic, newest_of(spans, MOST_RECORDS)):
            for message in messages:
                found.append(_given(message))
                left_bytes -= len(message.value() or b"") + len(message.key() or b"")
                if left_bytes < 0:
                    break
            if left_bytes < 0 or time.monotonic() > until_s:
                break
    found.sort(key=lambda one: (one.timestamp_ms, one.offset()), reverse=True)
    return Sampled(found, sum(map(len, spans.values())))


def _given(message: Message) -> GivenMessage:
    headers = tuple(message.headers() or ())
    at_ms = message.timestamp()[1]
    return GivenMessage(position_of(message), at_ms, message.value(), message.key(), headers)


def sample_row(
    cluster: str, topic: str, sampled: Sampled, masked_by: Mapping[str, str], notes: Sequence[str]
) -> TopicSample:
    """Return a sample for a page. Fields that another stream of the topic masks are not shown."""
    rows = [_row(one) for one in sampled.records[:SHOWN]]
    hidden = None
    if masked_by and rows:
        streams = ", ".join(sorted(set(masked_by.values())))
        hidden = f"fields of this topic are masked by {streams}"
    return TopicSample(
        cluster,
        topic,
        () if hidden else rows,
        len(sampled.records),
        sampled.held,
        sampled.format,
        hidden,
        notes,
    )


def _row(record: GivenMessage) -> TopicRecord:
    value, key, at_ms = shown(record.value()), shown(record.key()), record.timestamp_ms
    return TopicRecord(
        record.partition(),
        record.offset(),
        None if at_ms == NO_TIME_MS else format_time_us(at_ms * 1000),
        len(record.value() or b""),
        key.in_line,
        value.text,
        value.is_hex,
        value.is_cut,
    )
