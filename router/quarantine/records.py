"""Records as they lie in a quarantine: where they came from, why, and the original again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from headrace import contract
from router.given import GivenRecord, Place

if TYPE_CHECKING:
    from collections.abc import Iterable

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
class Kept:
    """A record of a quarantine. `place` is in there, `record` is the original."""

    place: Place
    connector: str
    stage: str
    reason: str
    record: GivenRecord

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

    def add(self, kept: Kept | None) -> None:
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


def kept_of(message: Any) -> Kept | None:  # noqa: ANN401 - a message of Kafka's client
    """Return what a message of a quarantine holds; None where it does not say where it is from."""
    told, rest = _split(message.headers() or [])
    try:
        origin = Place(
            told[contract.QUARANTINE_TOPIC],
            _number(told[contract.QUARANTINE_PARTITION]),
            _number(told[contract.QUARANTINE_OFFSET]),
        )
    except (KeyError, ValueError):
        return None
    _, timestamp_ms = message.timestamp()
    record = GivenRecord(origin, timestamp_ms, message.value(), message.key(), tuple(rest))
    return Kept(
        Place(message.topic(), message.partition(), message.offset()),
        told.get(contract.QUARANTINE_CONNECTOR, ""),
        told.get(contract.QUARANTINE_STAGE, ""),
        told.get(contract.QUARANTINE_EXCEPTION_MESSAGE, ""),
        record,
    )


def _number(text: str) -> int:
    """Return a partition or an offset; ValueError where anybody may have written something else."""
    if not (text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER):
        raise ValueError(text)
    return int(text)


def _split(headers: Iterable[tuple[str, Any]]) -> tuple[dict[str, str], Headers]:
    """Part the last header of each of our names from the others.

    A record that was itself read from a quarantine has them twice: the earlier are its own.
    """
    told: dict[str, str] = {}
    rest: list[tuple[str, bytes | None]] = []
    for name, value in reversed(list(headers)):
        own = value.encode() if isinstance(value, str) else value
        if name in HEADERS and name not in told and own is not None:
            told[name] = own.decode(errors="replace")
        else:
            rest.append((name, own))
    return told, rest[::-1]
