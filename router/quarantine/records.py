"""Records as they lie in a quarantine: where they came from, why, and the original again."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace import contract
from headrace.errors import UsageError
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.message import GivenMessage, RecordPosition, position_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.config.common.kafka_parts import QuarantineTopic
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.message import Message
    from headrace.records.rows import Headers

HEADERS: Final = (
    contract.QUARANTINE_TOPIC,
    contract.QUARANTINE_PARTITION,
    contract.QUARANTINE_OFFSET,
    contract.QUARANTINE_CONNECTOR,
    contract.QUARANTINE_STAGE,
    contract.QUARANTINE_EXCEPTION_CLASS,
    contract.QUARANTINE_EXCEPTION_MESSAGE,
)
# A reason that names a value is another for each record: so many are told apart.
MOST_REASONS: Final = 1_000


# The digits of the largest offset.
LONGEST_NUMBER: Final = 19


@dataclass(frozen=True, slots=True)
class QuarantinedRecord:
    """A record of a quarantine. `position` is in there, `record` is the original."""

    position: RecordPosition
    connector: str
    stage: str
    reason: str
    record: GivenMessage

    @property
    def size(self) -> int:
        """How many bytes key and value have."""
        return len(self.record.value() or b"") + len(self.record.key() or b"")

    def outputs(self, stream: str) -> str | None:
        """Return the output that it failed for; "" where it was all of them, None for others'."""
        if self.connector == stream:
            return ""
        owner, _, output = self.connector.partition(".")
        return output if owner == stream and output else None


@dataclass(slots=True)
class Summary:
    """How many records there are, by stage and reason."""

    records: int = 0
    bytes: int = 0
    foreign: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kept: QuarantinedRecord | None) -> None:
        """Count a record; None is one that no quarantine wrote."""
        if kept is None:
            self.foreign += 1
            return
        self.records += 1
        self.bytes += kept.size
        why = (kept.stage, kept.reason)
        if why not in self.reasons and len(self.reasons) >= MOST_REASONS:
            why = (kept.stage, "other reasons")
        self.reasons[why] += 1


def parse_quarantined(message: Message) -> QuarantinedRecord | None:
    """Return what a message of a quarantine holds; None where it does not say where it is from."""
    found, rest = _split(message.headers() or [])
    try:
        origin = RecordPosition(
            found[contract.QUARANTINE_TOPIC],
            _number(found[contract.QUARANTINE_PARTITION]),
            _number(found[contract.QUARANTINE_OFFSET]),
        )
    except (KeyError, ValueError):
        return None
    _, timestamp_ms = message.timestamp()
    record = GivenMessage(origin, timestamp_ms, message.value(), message.key(), tuple(rest))
    return QuarantinedRecord(
        position_of(message),
        found.get(contract.QUARANTINE_CONNECTOR, ""),
        found.get(contract.QUARANTINE_STAGE, ""),
        found.get(contract.QUARANTINE_EXCEPTION_MESSAGE, ""),
        record,
    )


def _number(text: str) -> int:
    """Return a partition or an offset; ValueError where anybody may have written something else."""
    if not (text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER):
        raise ValueError(text)
    return int(text)


def _split(headers: Iterable[tuple[str, str | bytes | None]]) -> tuple[dict[str, str], Headers]:
    """Part the last header of each of our names from the others.

    A record that was itself read from a quarantine has them twice: the earlier are its own.
    """
    found: dict[str, str] = {}
    rest: list[tuple[str, bytes | None]] = []
    for name, value in reversed(list(headers)):
        own = value.encode() if isinstance(value, str) else value
        if name in HEADERS and name not in found and own is not None:
            found[name] = own.decode(errors="replace")
        else:
            rest.append((name, own))
    return found, rest[::-1]


@dataclass(frozen=True, slots=True)
class Listing:
    """The summary of all of a stream's bad records, and the newest of them, newest first.

    `others` counts records of other streams, and of whoever else writes to the topic.
    """

    stream: str
    cluster: str
    topic: str
    summary: Summary
    newest: Sequence[QuarantinedRecord]
    others: int


def listing(workspace: Workspace, stream: Effective, limit: int) -> Listing:
    """Read a stream's quarantine from its beginning to where it ends now."""
    topic_ = quarantine_of(stream)
    name = stream.config.name
    kafka = KafkaCluster(workspace.cluster(topic_.cluster))
    summary, others = Summary(), Summary()

    def own() -> Iterator[QuarantinedRecord]:
        # A topic that is not there yet has no records.
        if topic_.topic not in kafka.topics():
            return
        for message in kafka.records(topic_.topic):
            kept = parse_quarantined(message)
            if kept is None or kept.outputs(name) is None:
                others.add(kept)
                continue
            summary.add(kept)
            yield kept

    newest = heapq.nlargest(limit, own(), key=_age)
    count = others.records + others.foreign
    return Listing(name, topic_.cluster, topic_.topic, summary, newest, count)


def quarantine_of(stream: Effective) -> QuarantineTopic:
    """Return where a stream's bad records go."""
    topic_ = stream.config.quarantine
    if topic_ is None:
        raise UsageError(
            f"stream {stream.config.name} does not quarantine rejected records",
            "choose on_bad_record: quarantine",
        )
    return topic_


def _age(kept: QuarantinedRecord) -> tuple[int, int, int]:
    return kept.record.timestamp_ms, kept.position.partition, kept.position.offset
