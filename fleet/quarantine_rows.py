"""A stream's rejected records for the control room: grouped by reason, the newest as samples."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.http.detail_rows import QuarantineGroup, QuarantineRow, Sample
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.ranges import RangeReader
from headrace.records.decoding import NO_TIME_MS
from headrace.records.hygiene.masks import REDACTED
from headrace.times import format_time_us
from router.quarantine.records import MOST_REASONS, own_record, quarantine_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from router.quarantine.records import QuarantinedRecord

# A page answers in a moment, however many records were rejected.
MOST_READ: Final = 20_000
MOST_BYTES: Final = 64 * 2**20
SAMPLES: Final = 3
MOST_GROUPS: Final = 200
# Of a key or a value, so many bytes are shown.
FIRST_BYTES: Final = 600
FIRST_HEX_BYTES: Final = 96
MASKED: Final = "the stream masks fields, and this value is not JSON in which they could be found"
OTHERS: Final = "all other reasons"


@dataclass(slots=True)
class Reading:
    """What was read beside a stream's own records: records of others, and how many were left."""

    others: int = 0
    unread: int = 0


def quarantine_row(workspace: Workspace, stream: Effective) -> QuarantineRow:
    """Read the newest records of a stream's quarantine."""
    topic, name = quarantine_of(stream), stream.config.name
    reading, groups = Reading(), Groups(stream.config.hygiene.mask)
    for kept in newest_kept(workspace, stream, reading):
        groups.add(kept, kept.outputs(name) or "")
    return QuarantineRow(
        name,
        topic.cluster,
        topic.topic,
        groups.records,
        groups.bytes,
        reading.others,
        reading.unread,
        groups.rows(),
    )


def newest_kept(
    workspace: Workspace, stream: Effective, reading: Reading
) -> Iterator[QuarantinedRecord]:
    """Give the newest records of a stream's quarantine, as many as a page has time for."""
    topic, name = quarantine_of(stream), stream.config.name
    kafka = KafkaCluster(workspace.cluster(topic.cluster))
    if topic.topic not in kafka.topics():
        return
    spans = kafka.offsets(topic.topic)
    newest = newest_of(spans, MOST_READ)
    read, left_bytes = 0, MOST_BYTES
    with closing(RangeReader(kafka.properties)) as reader:
        for _, messages in reader.chunks(topic.topic, newest):
            for message in messages:
                kept = own_record(message, name)
                if kept is None:
                    reading.others += 1
                else:
                    left_bytes -= kept.size
                    yield kept
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


class Groups:
    """Rejected records by stage, reason and output; of each, the newest are kept."""

    def __init__(self, masked: Collection[str]) -> None:
        self.records = self.bytes = 0
        self._masked = [name.split(".") for name in masked]
        self._counts: dict[tuple[str, str, str], int] = defaultdict(int)
        self._newest: dict[tuple[str, str, str], list[QuarantinedRecord]] = {}

    def add(self, kept: QuarantinedRecord, output: str) -> None:
        """Count a record, and keep it while it is among the newest."""
        self.records += 1
        self.bytes += kept.size
        key = kept.stage, kept.reason, output
        if key not in self._counts and len(self._counts) >= MOST_REASONS:
            key = kept.stage, OTHERS, output
        self._counts[key] += 1
        newest = self._newest.setdefault(key, [])
        newest.append(kept)
        if len(newest) > SAMPLES:
            newest.remove(min(newest, key=lambda one: one.record.timestamp_ms))

    def rows(self) -> list[QuarantineGroup]:
        """Return the groups, the largest first."""
        largest = sorted(self._counts.items(), key=lambda one: (-one[1], one[0]))[:MOST_GROUPS]
        return [
            QuarantineGroup(*key, count, [self._sample(one) for one in self._newest[key][::-1]])
            for key, count in largest
        ]

    def _sample(self, kept: QuarantinedRecord) -> Sample:
        record = kept.record
        at, raw_key, raw_value = record.position, record.key(), record.value()
        value, is_hex, is_cut, hidden = _shown(raw_value)
        if self._masked and raw_value is not None:
            value, is_hex, is_cut, hidden = _shown_masked(raw_value, self._masked)
        key, key_is_hex, _, _ = _shown(None if self._masked else raw_key)
        return Sample(
            at.topic,
            at.partition,
            at.offset,
            None
            if record.timestamp_ms == NO_TIME_MS
            else format_time_us(record.timestamp_ms * 1000),
            kept.size,
            REDACTED if self._masked and raw_key is not None else key,
            key_is_hex,
            value,
            is_hex,
            is_cut,
            hidden,
            []
            if self._masked
            else [(name, _shown(one)[0] or "") for name, one in record.given_headers],
        )


Shown = tuple[str | None, bool, bool, str | None]


def _shown(data: bytes | None) -> Shown:
    """Return bytes as text or as hex, and whether that is hex, and whether it is cut."""
    if data is None:
        return None, False, False, None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data[:FIRST_HEX_BYTES].hex(" "), True, len(data) > FIRST_HEX_BYTES, None
    if not all(one.isprintable() or one in "\n\r\t" for one in text):
        return data[:FIRST_HEX_BYTES].hex(" "), True, len(data) > FIRST_HEX_BYTES, None
    return text[:FIRST_BYTES], False, len(text) > FIRST_BYTES, None


def _shown_masked(data: bytes, masked: Sequence[Sequence[str]]) -> Shown:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None, False, False, MASKED
    if not isinstance(value, dict):
        return None, False, False, MASKED
    for parts in masked:
        _mask(value, parts)
    return _shown(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def _mask(value: object, parts: Sequence[str]) -> None:
    if isinstance(value, list):
        for one in value:
            _mask(one, parts)
    elif isinstance(value, dict) and parts[0] in value:
        if len(parts) == 1:
            value[parts[0]] = REDACTED
        else:
            _mask(value[parts[0]], parts[1:])
