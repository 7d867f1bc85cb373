"""A stream's rejected records for the control room: grouped by reason, the newest as samples."""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fleet.quarantine_samples import sample_of
from headrace.config.stream.sinks import TableSink
from headrace.contract import QUARANTINE
from headrace.http.quarantine_rows import QuarantineGroup, QuarantineRow
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.ranges import RangeReader
from router.quarantine.records import MOST_REASONS, own_record, quarantine_of
from router.quarantine.replayed import parted, replayed_by
from router.state import stream_state

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.quarantine_rows import GroupKey
    from router.quarantine.records import QuarantinedRecord

# A page answers in a moment, however many records were rejected.
MOST_READ: Final = 20_000
MOST_BYTES: Final = 64 * 2**20
SAMPLES: Final = 3
MOST_GROUPS: Final = 100
# A reason may be a text of any length, of whoever writes to the topic.
FIRST_OF_REASON: Final = 400
OTHERS: Final = "all other reasons"


@dataclass(slots=True)
class Reading:
    """What was found beside the records that wait.

    `others` are records of other streams, `unread` older ones, `replayed` those that replays have
    finished, by group. `is_there` says whether the topic exists.
    """

    others: int = 0
    unread: int = 0
    replayed: dict[GroupKey, int] = field(default_factory=lambda: defaultdict(int))
    is_there: bool = True


def quarantine_row(workspace: Workspace, stream: Effective) -> QuarantineRow:
    """Read the newest records of a stream's quarantine."""
    topic, name = quarantine_of(stream), stream.config.name
    reading, groups = Reading(), Groups(stream.config.hygiene.mask)
    for kept, _ in waiting_records(workspace, stream, reading):
        groups.add(kept, name)
    keys = groups.largest_first(reading.replayed)
    return QuarantineRow(
        name,
        topic.cluster,
        topic.topic,
        groups.records,
        groups.bytes,
        reading.others,
        reading.unread,
        [groups.row(key, reading.replayed.get(key, 0)) for key in keys[:MOST_GROUPS]],
        sum(reading.replayed.values()),
        max(0, len(keys) - MOST_GROUPS),
        reading.is_there,
    )


def waiting_records(
    workspace: Workspace, stream: Effective, reading: Reading
) -> Iterator[tuple[QuarantinedRecord, Sequence[str]]]:
    """Give the newest records that no replay has finished, as many as a page has time for.

    With each come the outputs that are done with it, of those that it failed for.
    """
    topic, name = quarantine_of(stream), stream.config.name
    kafka = KafkaCluster(workspace.cluster(topic.cluster))
    if topic.topic not in kafka.topics():
        reading.is_there = False
        return
    folder = stream_state(workspace, name).member(QUARANTINE)
    outputs = [one.name for one in stream.config.outputs if not isinstance(one.sink, TableSink)]
    done = replayed_by(folder, outputs, kafka.topic_id(topic.topic))
    spans = kafka.offsets(topic.topic)
    newest = newest_of(spans, MOST_READ)
    read, left_bytes = 0, MOST_BYTES
    with closing(RangeReader(kafka.properties)) as reader:
        for _, messages in reader.chunks(topic.topic, newest):
            for message in messages:
                kept = own_record(message, name)
                if kept is None:
                    reading.others += 1
                    continue
                left_bytes -= kept.size
                waiting, settled = parted(kept, name, done)
                if settled and not waiting:
                    reading.replayed[bounded_key(key_of(kept, name), reading.replayed)] += 1
                else:
                    yield kept, settled
            read += len(messages)
            if left_bytes < 0:
                break
    reading.unread = sum(map(len, spans.values())) - sum(map(len, newest.values()))
    if left_bytes < 0:
        reading.unread = sum(map(len, spans.values())) - read


def newest_of(spans: Mapping[int, range], most: int) -> dict[int, range]:
    """Return the last offsets of each partition: at most so many together, as even as can be."""
    left, found = most, {}
    smallest_first = sorted(spans.items(), key=lambda one: len(one[1]))
    for number, (partition, span) in enumerate(smallest_first):
        some = min(len(span), left // (len(spans) - number))
        found[partition] = span[len(span) - some :]
        left -= some
    return found


def key_of(kept: QuarantinedRecord, stream: str) -> GroupKey:
    """Return the group of a record."""
    reason = kept.reason
    if len(reason) > FIRST_OF_REASON:
        reason = f"{reason[:FIRST_OF_REASON]}…"
    return kept.stage, reason, kept.outputs(stream) or ""


def bounded_key(key: GroupKey, known: Collection[GroupKey]) -> GroupKey:
    """Return the group in which a record is counted, where so many are known already."""
    stage, _, output = key
    return key if key in known or len(known) < MOST_REASONS else (stage, OTHERS, output)


class Groups:
    """Rejected records by stage, reason and output; of each, the newest are kept."""

    def __init__(self, masked: Collection[str]) -> None:
        self.records = self.bytes = 0
        self._masked = [name.split(".") for name in masked]
        self._counts: dict[GroupKey, int] = defaultdict(int)
        self._newest: dict[GroupKey, list[QuarantinedRecord]] = {}

    def add(self, kept: QuarantinedRecord, stream: str) -> None:
        """Count a record, and keep it while it is among the newest."""
        self.records += 1
        self.bytes += kept.size
        key = bounded_key(key_of(kept, stream), self._counts)
        self._counts[key] += 1
        newest = self._newest.setdefault(key, [])
        newest.append(kept)
        if len(newest) > SAMPLES:
            newest.remove(min(newest, key=lambda one: one.record.timestamp_ms))

    def largest_first(self, replayed: Collection[GroupKey] = ()) -> list[GroupKey]:
        """Return the groups, the largest first; last those of which no record waits any more."""
        every = {*self._counts, *replayed}
        return sorted(every, key=lambda one: (-self._counts.get(one, 0), one))

    def row(self, key: GroupKey, replayed: int = 0) -> QuarantineGroup:
        """Return a group with its samples."""
        newest = self._newest.get(key, ())[::-1]
        samples = [sample_of(one, self._masked) for one in newest]
        return QuarantineGroup(*key, self._counts.get(key, 0), samples, replayed)
