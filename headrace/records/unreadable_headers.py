"""A record whose headers Kafka's client could only read in part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.kafka.message import Message
    from headrace.records.rows import Headers


@dataclass(frozen=True, slots=True)
class HalfReadMessage:
    """A message of the client, with the headers that can be known of it, and what is wrong."""

    message: Message
    readable: Headers
    reason: str

    def topic(self) -> str:
        """Return the topic that it was read from."""
        return self.message.topic()

    def partition(self) -> int:
        """Return its partition."""
        return self.message.partition()

    def offset(self) -> int:
        """Return its offset."""
        return self.message.offset()

    def timestamp(self) -> tuple[int, int]:
        """Return the kind of its timestamp, and the milliseconds."""
        return self.message.timestamp()

    def value(self) -> bytes | None:
        """Return its value."""
        return self.message.value()

    def key(self) -> bytes | None:
        """Return its key."""
        return self.message.key()

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Return the headers that can be known."""
        return list(self.readable) or None

    def __len__(self) -> int:
        return len(self.message)
