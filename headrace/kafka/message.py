"""A record that was read: what we use of a message of Kafka's client, whoever stands in for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.records.rows import Headers

# Kafka's word for a timestamp that the producer gave.
CREATE_TIME: Final = 1


class Message(Protocol):
    """The client's own, HalfReadMessage and GivenMessage are ones."""

    def topic(self) -> str:
        """Return the topic that it was read from."""

    def partition(self) -> int:
        """Return its partition."""

    def offset(self) -> int:
        """Return its offset."""

    def timestamp(self) -> tuple[int, int]:
        """Return the kind of its timestamp, and the milliseconds."""

    def value(self) -> bytes | None:
        """Return its value."""

    def key(self) -> bytes | None:
        """Return its key."""

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        """Return its headers; None where it has none."""

    def __len__(self) -> int:
        """Return how many bytes its value has."""


@dataclass(frozen=True, slots=True)
class RecordPosition:
    """Where a record was read."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} @ {self.offset}"


def position_of(message: Message) -> RecordPosition:
    """Return where a message was read."""
    return RecordPosition(message.topic(), message.partition(), message.offset())


@dataclass(frozen=True, slots=True)
class GivenMessage:
    """A record that somebody gives, from a file or out of a quarantine."""

    position: RecordPosition
    timestamp_ms: int
    given_value: bytes | None
    given_key: bytes | None = None
    given_headers: Headers = ()

    def topic(self) -> str:
        """Return the topic that it was read from."""
        return self.position.topic

    def partition(self) -> int:
        """Return its partition."""
        return self.position.partition

    def offset(self) -> int:
        """Return its offset."""
        return self.position.offset

    def timestamp(self) -> tuple[int, int]:
        """Return the kind of its timestamp, and the milliseconds."""
        return CREATE_TIME, self.timestamp_ms

    def value(self) -> bytes | None:
        """Return its value."""
        return self.given_value

    def key(self) -> bytes | None:
        """Return its key."""
        return self.given_key

    def headers(self) -> Headers | None:
        """Return its headers; None where it has none, as the client does."""
        return list(self.given_headers) or None

    def __len__(self) -> int:
        return len(self.given_value or b"")
