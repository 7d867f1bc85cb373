"""Places in topics, and how what lies between two of them is shared out; arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

# The next offset of each partition, by topic.
Places: TypeAlias = "dict[str, dict[int, int]]"
# The epoch of a leader whose log had all before such an offset, where it is known.
Epochs: TypeAlias = "dict[str, dict[int, int]]"


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """Offsets of one partition, the last one exclusive."""

    topic: str
    partition: int
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


def to_json(
    places: Mapping[str, Mapping[int, int]], epochs: Epochs | None = None
) -> dict[str, dict[str, int | list[int]]]:
    """Return places as JSON holds them, an offset or [offset, epoch]; equal ones are one text."""
    known = epochs or {}
    return {
        topic: {
            str(number): _said(of[number], known.get(topic, {}).get(number))
            for number in sorted(of)
        }
        for topic, of in sorted(places.items())
    }


def from_json(said: Mapping[str, Mapping[str, int | list[int]]]) -> Places:
    """Read the places that `to_json` wrote."""
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


def stretches(start: Places, end: Places) -> list[Stretch]:
    """Return what lies between two places; a partition that is new begins at its first record.

    None of them is empty.
    """
    found = [
        Stretch(topic, number, start.get(topic, {}).get(number, 0), to)
        for topic, of in end.items()
        for number, to in of.items()
    ]
    return [one for one in found if one.end > one.start]


def capped(start: Places, end: Places, most: int) -> Places:
    """Return how far a batch of about so many records goes: each partition by the same share."""
    missing = sum(map(len, stretches(start, end)))
    if missing <= most:
        return end
    reached: Places = {}
    for topic, of in end.items():
        begun = start.get(topic, {})
        reached[topic] = {
            # Rounded up, so that every partition gets on.
            number: (at := begun.get(number, 0)) + -(-max(0, to - at) * most // missing)
            for number, to in of.items()
        }
    return reached


def within(places: Places, until: Places | None) -> Places:
    """Return the places, or where it is to end if that comes first; later partitions are left out."""
    if until is None:
        return places
    return {
        topic: {
            number: min(offset, until[topic][number])
            for number, offset in of.items()
            if number in until[topic]
        }
        for topic, of in places.items()
        if topic in until
    }


def shared_out(found: list[Stretch], tasks: int) -> list[list[Stretch]]:
    """Spread stretches over tasks, each of them whole; about as many records for each task."""
    parts: list[list[Stretch]] = [[] for _ in range(max(1, min(tasks, len(found))))]
    loads = [0] * len(parts)
    for one in sorted(found, key=lambda one: (-len(one), one)):
        lightest = loads.index(min(loads))
        parts[lightest].append(one)
        loads[lightest] += len(one)
    return [part for part in parts if part]


def forward(at: Places, to: Places) -> Places:
    """Return the later of both for each partition: an answer of Kafka's may be an old one."""
    return {
        topic: {
            number: max(at.get(topic, {}).get(number, 0), to.get(topic, {}).get(number, 0))
            for number in at.get(topic, {}).keys() | to.get(topic, {}).keys()
        }
        for topic in at.keys() | to.keys()
    }
