"""An event a second, spread over the partitions of a topic: what hybrid sources are tested with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.kafka.sender import KafkaRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

START_MS = 1_772_323_200_000
PARTITIONS = 2


def records(numbers: Iterable[int], every_ms: int = 1_000) -> Iterator[KafkaRecord]:
    """Yield those events, `every_ms` apart."""
    for n in numbers:
        at_ms = START_MS + n * every_ms
        yield KafkaRecord(
            json.dumps({"id": n, "kind": "a", "at": at_ms}).encode(),
            timestamp_ms=at_ms,
            partition=n % PARTITIONS,
        )
