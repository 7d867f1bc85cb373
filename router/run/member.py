"""An output, or the quarantine, as a query carries it: its places in the topic, its lag."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import structlog

from headrace.contract import QUARANTINE
from headrace.errors import Terminal, Transient
from headrace.kafka.leaders import Reached
from headrace.kafka.source_topic import Reader, TopicRecreated
from router.ledger.entries import BEGINNING, Counts, LedgerStretch, total
from router.ledger.places import Place, ReadTopic, now_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kafka.leaders import TopicEnds
    from router.ledger.topic import MemberPlaces
    from router.plan.model import Source

log = structlog.get_logger(__name__)


class Group(Protocol):
    """A consumer group by which others see the lag."""

    def commit_soon(self, topic: str, nexts: Mapping[int, int]) -> None:
        """Begin to commit the next offset of each partition."""

    def close(self) -> None:
        """Let go of it, when all is committed."""


@dataclass(slots=True)
class Member:
    """Knows where it is, and forgets nothing.

    With `begins_again` it may leave a topic for another one, or for one that was re-created.
    """

    stream: str
    name: str
    source: Source
    starting_offsets: Literal["earliest", "latest"]
    group: Group
    begins_again: bool = False
    places: dict[int, Place] = field(default_factory=dict)
    _before: Counts | None = field(default=None, init=False)

    @property
    def reader(self) -> Reader:
        """It as a reader of its topic."""
        return Reader(
            f"output {self.name}",
            "to route the topic as it is now, from its starting_offsets on: router start "
            f"--begin-again {self.name}",
            "to continue after the gap, and keep it in the ledger: source.on_data_loss: skip",
        )

    @property
    def counts(self) -> Counts:
        """What became of the records of this run, whoever of its tasks was heard of last."""
        return self.counts_since_start(self.places)

    def counts_since_start(self, places: Mapping[int, Place]) -> Counts:
        """Return what became of the records of this run, by places of it."""
        return total(place.counts for place in places.values()) - (self._before or Counts())

    @property
    def positions(self) -> dict[int, int]:
        """The next offset of each partition."""
        return {number: place.stretch.end_exclusive for number, place in self.places.items()}

    @property
    def reached(self) -> dict[int, Reached]:
        """The next offset of each partition, and a leader's epoch that is known to have had it."""
        return {
            number: Reached(place.stretch.end_exclusive, place.stretch.epoch)
            for number, place in self.places.items()
        }

    def load(self, known: Mapping[str, MemberPlaces], topic: ReadTopic) -> None:
        """Take over what the ledger says; refuse a topic that is not the one that was read."""
        own = known.get(topic.topic_id)
        self.places = {} if own is None else dict(own.places)
        if self._before is None:
            self._before = total(place.counts for place in self.places.values())
        if own is not None or self.begins_again:
            return
        for other in (one.topic for one in known.values()):
            if other.cluster != topic.cluster:
                # The stream in another region, which writes into the same cluster.
                continue
            if other.topic == topic.topic:
                raise TopicRecreated(self.reader, topic.topic)
            if self.name == QUARANTINE:
                # One topic may keep the bad records of many: each says where it came from.
                continue
            raise Terminal(
                f"output {self.name} has its position in topic {other.topic}, but the stream now "
                f"reads {topic.topic}",
                "give the output another name, and it begins in the new topic; or let this one "
                f"begin there: router start --begin-again {self.name}",
            )

    def starting_places(self, ends: TopicEnds) -> dict[int, Place]:
        """Return where it begins, if it is new: where its stream says."""
        if self.places:
            return {}
        at = now_text()
        return {
            number: Place.beginning(
                at, LedgerStretch(first, first, Counts(), epoch=ends.epoch(number, first))
            )
            for number, first in ends.starting_offsets(self.starting_offsets).items()
        }

    def begin(self, places: Mapping[int, Place]) -> None:
        """Begin there."""
        if places:
            self.places = dict(places)
            log.info(
                "an output begins", stream=self.stream, output=self.name, at=self.starting_offsets
            )

    def following(self, stretches: Mapping[int, LedgerStretch]) -> dict[int, Place]:
        """Return the places behind a batch, with nothing counted yet."""
        batch = max((one.batch for one in self.places.values()), default=BEGINNING) + 1
        at = now_text()
        return {
            number: self.places[number].following(batch, at, stretch)
            if number in self.places
            else Place(batch, at, stretch)
            for number, stretch in stretches.items()
        }

    def record(self, places: Mapping[int, Place]) -> None:
        """Keep a batch that is done with, and let others see the lag."""
        counts = total(place.stretch.counts for place in places.values())
        batch = max(place.batch for place in places.values())
        self.places |= places
        log.info("batch routed", stream=self.stream, output=self.name, batch=batch, **counts.shown)
        try:
            self.group.commit_soon(self.source.topic, self.positions)
        except Transient as problem:
            # Only what others see of our lag: the next batch commits it as well.
            log.warning("the lag could not be read", output=self.name, reason=problem.message)
