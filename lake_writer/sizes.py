"""How large a topic's records are, before any of them was worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.kafka.ranges import RangeReader
from lake_writer.slices import ASSUMED_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

# A limit in bytes has to hold from the first commit on, and these are read once a run.
SAMPLE: Final = 500


def sampled_bytes(properties: Mapping[str, str], topic: str, ranges: Mapping[int, range]) -> float:
    """Return the size of a value, by the next few of the largest range."""
    number, span = max(ranges.items(), key=lambda one: len(one[1]))
    reader = RangeReader(properties)
    try:
        found = reader.chunks(topic, {number: span[:SAMPLE]})
        sizes = [len(message) for _, messages in found for message in messages]
    finally:
        reader.close()
    return sum(sizes) / len(sizes) if sizes else ASSUMED_BYTES
