"""Records as they lie in a quarantine: where they came from, why, and the original again."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

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
# A reason that names a value is another for each record: so many are counted one by one.
MOST_REASONS: Final = 1_000
# The digits of the largest offset.
LONGEST_NUMBER: Final = 19
Reason = TypeVar("Reason")


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
class Listing:
    """All of a stream's bad records by stage and reason, and the newest of them, newest first.

    `others` counts records of other streams, and of whoever else writes to the topic.
    """

    stream: str
    cluster: str
    topic: str
    records: int = 0
    bytes: int = 0
    others: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    newest: Sequence[QuarantinedRecord] = ()

    def add(self, kept: QuarantinedRecord) -> None:
        """Count a record of the stream."""
        self.records += 1
        self.bytes += kept.size
        count_reason(self.reasons, (kept.stage, kept.reason), (kept.stage, "other reasons"))


def count_reason(reasons: Counter[Reason], reason: Reason, other: Reason) -> None:
    """Count a reason, or `other` if MOST_REASONS are counted already."""
    known = reason in reasons or len(reasons) < MOST_REASONS
    reasons[reason if known else other] += 1


def own_record(message: Message, stream: str) -> QuarantinedRecord | None:
    """Return what a message of a quarantine holds; None where it is not the stream's."""
    kept = parse_quarantined(message)
    return None if kept is None or kept.outputs(stream) is None else kept


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


def listing(workspace: Workspace, stream: Effective, limit: int) -> Listing:
    """Read a stream's quarantine from its beginning to where it ends now."""
    topic = quarantine_of(stream)
    found = Listing(stream.config.name, topic.cluster, topic.topic)
    kafka = KafkaCluster(workspace.cluster(topic.cluster))

    def own() -> Iterator[QuarantinedRecord]:
        # A topic that is not there yet has no records.
        if topic.topic not in kafka.topics():
            return
        for message in kafka.records(topic.topic):
            kept = own_record(message, found.stream)
            if kept is None:
                found.others += 1
            else:
                found.add(kept)
                yield kept

    found.newest = heapq.nlargest(limit, own(), key=_age)
    return found


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
