"""Positions in topics, and how what lies between two of them is shared out; arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headrace.jvm.tasks import spread

if TYPE_CHECKING:
    from collections.abc import Mapping

# The next offset of each partition, by topic.
Positions: TypeAlias = "dict[str, dict[int, int]]"
# The epoch of a leader whose log had all before such an offset, where it is known.
Epochs: TypeAlias = "dict[str, dict[int, int]]"


@dataclass(frozen=True, slots=True, order=True)
class TopicRange:
    """Offsets of one partition, the last one exclusive."""

    topic: str
    partition: int
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


def to_json(
    positions: Mapping[str, Mapping[int, int]], epochs: Epochs | None = None
) -> dict[str, dict[str, int | list[int]]]:
    """Return positions as JSON holds them, an offset or [offset, epoch]; equal ones are one text."""
    known = epochs or {}
    return {
        topic: {
            str(number): _said(of[number], known.get(topic, {}).get(number))
            for number in sorted(of)
        }
        for topic, of in sorted(positions.items())
    }


def from_json(said: Mapping[str, Mapping[str, int | list[int]]]) -> Positions:
    """Read the positions that `to_json` wrote."""
    return {
        topic: {int(number): one if isinstance(one, int) else one[0] for number, one in of.items()}
        for topic, of in said.items()
    }


def epochs_from_json(said: Mapping[str, Mapping[str, int | list[int]]]) -> Epochs:
    """Read the epochs that `to_json` wrote."""
    return {
        topic: {int(number): one[1] for number, one in of.items() if not isinstance(one, int)}
        for topic, of in said.items()
    }


def _said(offset: int, epoch: int | None) -> int | list[int]:
    return offset if epoch is None else [offset, epoch]


def stretches(start: Positions, end: Positions) -> list[TopicRange]:
    """Return what lies between two positions; a partition that is new begins at its first record.

    None of them is empty.
    """
    found = [
        TopicRange(topic, number, start.get(topic, {}).get(number, 0), to)
        for topic, of in end.items()
        for number, to in of.items()
    ]
    return [one for one in found if one.end > one.start]


def capped(start: Positions, end: Positions, most: int) -> Positions:
    """Return how far a batch of about so many records goes: each partition by the same share."""
    missing = sum(map(len, stretches(start, end)))
    if missing <= most:
        return end
    reached: Positions = {}
    for topic, of in end.items():
        begun = start.get(topic, {})
        reached[topic] = {
            # Rounded up, so that every partition gets on.
            number: (at := begun.get(number, 0)) + -(-max(0, to - at) * most // missing)
            for number, to in of.items()
        }
    return reached


def within(positions: Positions, until: Positions | None) -> Positions:
    """Return the positions, or where it is to end if that comes first; later partitions are left out."""
    if until is None:
        return positions
    return {
        topic: {
            number: min(offset, until[topic][number])
            for number, offset in of.items()
            if number in until[topic]
        }
        for topic, of in positions.items()
        if topic in until
    }


def shared_out(found: list[TopicRange], tasks: int) -> list[list[TopicRange]]:
    """Spread stretches over tasks, each of them whole; about as many records for each task."""
    return spread(sorted(found, key=lambda one: (-len(one), one)), tasks, len)


def forward(at: Positions, to: Positions) -> Positions:
    """Return the later of both for each partition: an answer of Kafka's may be an old one."""
    return {
        topic: {
            number: max(at.get(topic, {}).get(number, 0), to.get(topic, {}).get(number, 0))
            for number in at.get(topic, {}).keys() | to.get(topic, {}).keys()
        }
        for topic in at.keys() | to.keys()
    }
