"""Places in a topic: where a run begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping


class OffsetsGone(Terminal):
    """Records that were to land next are no longer in the topic."""

    def __init__(self, topic: str, gaps: Mapping[int, range]) -> None:
        self.gaps = dict(gaps)
        places = "; ".join(
            f"{topic}-{number} @ {gap.start} to {gap.stop - 1} ({len(gap):,} records)"
            for number, gap in sorted(gaps.items())
        )
        super().__init__(
            f"the topic no longer has records that were to land next: {places}",
            "retention, or somebody's deletion, was faster. To go on behind the gap, and keep it"
            " in the table for the audit: source.on_data_loss: skip",
        )


class TopicTooShort(Terminal):
    """A topic that ends before what the table has of it."""

    def __init__(self, places: str) -> None:
        super().__init__(
            f"the table holds offsets that the topic does not have: {places}",
            "the topic was deleted and made again, or lost its newest records, or this is another"
            " cluster: give the writer of the new topic a new name",
        )


def starting_places(
    topic: str, marked: Mapping[int, int], held: Mapping[int, range], otherwise: str
) -> dict[int, int]:
    """Return where each partition goes on: at the table's mark, or as the file says at first.

    `held` is what the topic has, `otherwise` is `earliest` or `latest`.
    """
    require_held(topic, marked, held)
    # A partition that came after the first commit is read from its beginning all the same.
    from_end = otherwise == "latest" and not marked
    first = {number: span.stop if from_end else span.start for number, span in held.items()}
    return {number: marked.get(number, place) for number, place in first.items()}


def require_held(topic: str, places: Mapping[int, int], held: Mapping[int, range]) -> None:
    """Raise where a topic ends before what has landed of it."""
    beyond = [
        f"{topic}-{number} up to {place - 1}, where the topic ends at {held[number].stop}"
        if number in held
        else f"{topic}-{number}, a partition that is not there"
        for number, place in sorted(places.items())
        if number not in held or place > held[number].stop
    ]
    if beyond:
        raise TopicTooShort("; ".join(beyond))


def gaps(starts: Mapping[int, int], held: Mapping[int, range]) -> dict[int, range]:
    """Return the offsets of each partition that were to come next, and that the topic lost."""
    return {
        number: range(starts[number], span.start)
        for number, span in held.items()
        if starts.get(number, span.start) < span.start
    }
