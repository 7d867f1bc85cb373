"""How a batch is shared out: few tasks for few bytes, and each a stretch of time of its own."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Final

from headrace.kafka.ranges import RangeReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Below this a second task would cost a second file more than it saves time.
TASK_BYTES: Final = 32 * 2**20
# Of a record, as long as none has been seen.
ASSUMED_BYTES: Final = 200
# A limit in bytes has to hold from the first commit on, and these are read once a run.
SAMPLE: Final = 500


def tasks_for(records: int, record_bytes: float, cores: int) -> int:
    """Return how many tasks a batch is worth: the files of a commit follow from it."""
    return max(1, min(cores, int(records * record_bytes) // TASK_BYTES + 1))


def part_of(ranges: Mapping[int, range], record_bytes: float, most_bytes: int) -> dict[int, range]:
    """Return what of a batch goes into its next commit, none of which is smaller than the others."""
    records = sum(map(len, ranges.values()))
    commits = max(1, min(records, math.ceil(records * record_bytes / most_bytes)))
    return next(_slices(ranges, commits), {})


def slices(ranges: Mapping[int, range], number: int) -> list[dict[int, range]]:
    """Cut a batch into that many slices, each with its share of every partition; none is empty.

    Partitions are about as far in time as each other: so are the slices, one after another, and
    a replay finds its minutes in one file and not in all of them.
    """
    return list(_slices(ranges, number))


def _slices(ranges: Mapping[int, range], number: int) -> Iterator[dict[int, range]]:
    for at in range(number):
        edges = {
            partition: (len(whole) * at // number, len(whole) * (at + 1) // number)
            for partition, whole in ranges.items()
        }
        part = {one: ranges[one][low:high] for one, (low, high) in edges.items() if low < high}
        if part:
            yield part


def sampled_bytes(properties: Mapping[str, str], topic: str, ranges: Mapping[int, range]) -> float:
    """Return the size of a value, by the next few of the largest range."""
    number, span = max(ranges.items(), key=lambda one: len(one[1]))
    with contextlib.closing(RangeReader(properties)) as reader:
        found = reader.chunks(topic, {number: span[:SAMPLE]})
        sizes = [len(message) for _, messages in found for message in messages]
    return sum(sizes) / len(sizes) if sizes else ASSUMED_BYTES
