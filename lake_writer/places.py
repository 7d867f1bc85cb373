"""Places in a topic: where a run begins, and where one of Spark's batches ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class OffsetsGone(Terminal):
    """Records that were to land next are no longer in the topic."""

    def __init__(self, places: str) -> None:
        super().__init__(
            f"Kafka no longer has records that were to land next: {places}",
            "retention or a deletion took them. Restore them if you can; under a new name the"
            " writer begins at what is there",
        )


class TopicMadeAnew(Terminal):
    """A topic that ends before what the table has of it."""

    def __init__(self, places: str) -> None:
        super().__init__(
            f"the table holds offsets that the topic does not have: {places}",
            "the topic was deleted and made again, or this is another cluster: give the writer of"
            " the new topic a new name",
        )


def starting_places(
    topic: str, marked: Mapping[int, int], held: Mapping[int, range], otherwise: str
) -> dict[int, int]:
    """Return where each partition goes on: at the table's mark, or as the file says at first.

    `held` is what the topic has, `otherwise` is `earliest` or `latest`.
    """
    gone = [
        f"{topic}-{number} @ {marked[number]}-{span.start - 1}"
        for number, span in sorted(held.items())
        if marked.get(number, span.start) < span.start
    ]
    if gone:
        raise OffsetsGone(", ".join(gone))
    beyond = [
        f"{topic}-{number} up to {place - 1}, where the topic ends at {held[number].stop}"
        if number in held
        else f"{topic}-{number}, a partition that is not there"
        for number, place in sorted(marked.items())
        if number not in held or place > held[number].stop
    ]
    if beyond:
        raise TopicMadeAnew("; ".join(beyond))
    # A partition that came after the first commit is read from its beginning all the same.
    from_end = otherwise == "latest" and not marked
    first = {number: span.stop if from_end else span.start for number, span in held.items()}
    return {number: marked.get(number, place) for number, place in first.items()}


def batch_ends(checkpoint: Path, batch_id: int, topic: str) -> dict[int, int]:
    """Return the offsets before which one of Spark's batches ends.

    Its rows do not say: the last offsets of a range may hold no record, where a transaction
    ended or compaction took it. Spark writes its plan down before a batch begins: a line with
    the version, one with settings, one for each source.
    """
    lines = (checkpoint / "offsets" / str(batch_id)).read_text(encoding="utf-8").splitlines()
    if lines[0] != "v1" or len(lines) != 3:
        raise Terminal(f"Spark's offset log has another format than v1: {lines[:1]}")
    ends: Mapping[str, int] = json.loads(lines[2])[topic]
    return {int(number): end for number, end in ends.items()}
