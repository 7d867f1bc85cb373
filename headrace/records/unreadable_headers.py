"""A record whose headers Kafka's client could only read in part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.records.rows import Headers


@dataclass(frozen=True, slots=True)
class HalfReadMessage:
    """A message of the client, with the headers that can be known of it, and what is wrong."""

    message: Any
    readable: Headers
    reason: str

    def topic(self) -> str:
        """Return the topic that it was read from."""
        return str(self.message.topic())

    def partition(self) -> int:
        """Return its partition."""
        return int(self.message.partition())

    def offset(self) -> int:
        """Return its offset."""
        return int(self.message.offset())

    def timestamp(self) -> tuple[int, int]:
        """Return the kind of its timestamp, and the milliseconds."""
        kind, at_ms = self.message.timestamp()
        return kind, at_ms

    def value(self) -> bytes | None:
        """Return its value."""
        value: bytes | None = self.message.value()
        return value

    def key(self) -> bytes | None:
        """Return its key."""
        key: bytes | None = self.message.key()
        return key

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Return the headers that can be known."""
        return list(self.readable) or None

    def __len__(self) -> int:
        return len(self.message)
