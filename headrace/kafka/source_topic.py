"""The topic that a reader goes on in: still the same one, and with the records that come next.

Router, lake writer and live sources ask before each batch: retention, a deletion or an election
may have come since the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import structlog

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kafka.cluster import KafkaCluster
    from headrace.kafka.leaders import Reached, TopicEnds
    from headrace.kafka.watch import ClusterWatch

# An older answer of the watch is not used.
STATE_HOLDS_S: Final = 1.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a topic, and what its user may do where the topic lost records, in words."""

    name: str
    begin_again: str
    skip: str = ""


class TopicRecreated(Terminal):
    """A topic of the same name that is not the one that was read."""

    def __init__(self, reader: Reader, topic: str) -> None:
        super().__init__(
            f"topic {topic} was deleted and re-created: {reader.name} has read the old topic, and "
            "the same offsets hold other records now",
            reader.begin_again,
        )


class OffsetsGone(Terminal):
    """Records that were to be read next are no longer in the topic."""

    def __init__(self, reader: Reader, topic: str, gaps: Mapping[int, range]) -> None:
        self.gaps = dict(gaps)
        shown = "; ".join(
            f"{topic}-{number} @ {gap.start} to {gap.stop - 1} ({len(gap):,} records)"
            for number, gap in sorted(gaps.items())
        )
        super().__init__(
            f"{reader.name}: the topic no longer has the records that had to be read next: {shown}",
            "retention or a deletion removed them before they were read; "
            f"{reader.skip or reader.begin_again}",
        )


class TopicTooShort(Terminal):
    """A topic that ends before what was read of it."""

    def __init__(self, reader: Reader, topic: str, beyond: Mapping[int, str]) -> None:
        shown = "; ".join(f"{topic}-{number}{why}" for number, why in sorted(beyond.items()))
        super().__init__(
            f"{reader.name} has read to offsets that the topic does not have: {shown}",
            "the topic was deleted and re-created, or lost its newest records (an unclean election"
            f" of a leader?), or this is another cluster: {reader.begin_again}",
        )


class TopicTruncated(Terminal):
    """Offsets that were read already, and whose records are others now."""

    def __init__(self, reader: Reader, topic: str, replaced: Mapping[int, range]) -> None:
        self.replaced = dict(replaced)
        shown = "; ".join(
            (
                f"{topic}-{number} was read up to {span.stop}, and from {span.start} on it holds "
                "other records now"
            )
            for number, span in sorted(replaced.items())
        )
        choices = "; or ".join(filter(None, (reader.skip, reader.begin_again)))
        super().__init__(
            f"{reader.name}: the topic lost records that had already been read: {shown}",
            "a leader without these records was elected (unclean.leader.election.enable?); "
            f"{choices}",
        )


@dataclass(frozen=True, slots=True)
class SourceTopic:
    """One topic to read, and whether its readers go on without records that it lost."""

    kafka: KafkaCluster
    topic: str
    on_data_loss: Literal["fail", "skip"] = "fail"
    # Where many jobs ask together: who has asked a moment ago, asked for all.
    watch: ClusterWatch | None = None

    def identity(self) -> str:
        """Return the id that the cluster gave the topic when it was created."""
        return self.kafka.topic_id(self.topic)

    def seen(self) -> tuple[TopicEnds, str | None]:
        """Return what the topic holds, and its id where that was asked for after that, too."""
        if self.watch is not None:
            state = self.watch.last_state(self.topic, STATE_HOLDS_S)
            if state is not None:
                return state.ends, state.topic_id
        return self.kafka.ends(self.topic), None

    def first_look(self) -> tuple[TopicEnds, str]:
        """Return what the topic holds now, and its id."""
        if self.watch is not None and (state := self.watch.wait_for_state(self.topic)) is not None:
            return state.ends, state.topic_id
        ends = self.kafka.ends(self.topic)
        return ends, self.identity()

    def look(self, reader: Reader, topic_id: str, positions: Mapping[int, int]) -> TopicEnds:
        """Return what the topic holds; refuse another topic, or one that ends before what was read.

        The id is asked after the ends: where it is the same, the ends are of the same topic too.
        """
        ends = self.kafka.ends(self.topic)
        require_same(reader, self.topic, topic_id, self.identity())
        require_not_shorter(reader, self.topic, positions, ends.spans)
        return ends

    def lost(
        self,
        reader: Reader,
        starts: Mapping[int, int],
        held: Mapping[int, range],
        ends: Mapping[int, int] | None = None,
    ) -> dict[int, range]:
        """Return what is gone of the offsets that come next (before `ends`), or raise OffsetsGone."""
        gone = gaps(starts, held, ends or {})
        if gone:
            self._accept(OffsetsGone(reader, self.topic, gone))
        return gone

    def replaced(
        self, reader: Reader, read: Mapping[int, Reached], ends: TopicEnds
    ) -> dict[int, range]:
        """Return which offsets that were read hold other records by now, or raise TopicTruncated."""
        found = self.kafka.replaced(self.topic, read, ends)
        if found:
            self._accept(TopicTruncated(reader, self.topic, found))
        return found

    def _accept(self, loss: Terminal) -> None:
        if self.on_data_loss == "fail":
            raise loss
        log.warning("offsets were lost; reading continues after the gap", reason=loss.message)


def gaps(
    starts: Mapping[int, int], held: Mapping[int, range], ends: Mapping[int, int]
) -> dict[int, range]:
    """Return the offsets from each start on that the topic no longer has, up to an end if given."""
    found = {
        number: range(start, min(held[number].start, ends.get(number, held[number].start)))
        for number, start in starts.items()
        if number in held
    }
    return {number: gap for number, gap in found.items() if gap}


def require_same(reader: Reader, topic: str, read: str, found: str) -> None:
    """Raise TopicRecreated where a topic's id is not the one of the topic that was read."""
    if found != read:
        raise TopicRecreated(reader, topic)


def require_not_shorter(
    reader: Reader, topic: str, positions: Mapping[int, int], held: Mapping[int, range]
) -> None:
    """Raise TopicTooShort where a topic ends before what was read of it."""
    beyond = {
        number: f" up to {position - 1}, but the partition ends at {held[number].stop}"
        if number in held
        else ", but the topic has no such partition"
        for number, position in positions.items()
        if number not in held or position > held[number].stop
    }
    if beyond:
        raise TopicTooShort(reader, topic, beyond)
