"""What a ledger's records say: how far a member is in a partition, and what became of all before.

A ledger is a compacted topic in Kafka. Each record stands for everything up to its end: compaction
may take all records of a partition but the last.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal
from headrace.state_version import WrittenByNewer
from router.ledger.entries import BEGINNING, Counts, LedgerEntry, LedgerStretch, checked, total

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSION: Final = 1
PLACE: Final = "place"
_COUNTS: Final = itemgetter(*Counts.__slots__)


@dataclass(frozen=True, slots=True)
class ReadTopic:
    """The topic that a ledger is about: one re-created under the same name has another id."""

    cluster: str
    topic: str
    topic_id: str


@dataclass(frozen=True, slots=True)
class Place:
    """How far a member is in one partition: its last batch there, and all before.

    `before` is a sum: a stretch begins in it only where offsets were lost, so that these are named.
    """

    batch: int
    at: str
    stretch: LedgerStretch
    before: tuple[LedgerStretch, ...] = ()

    @property
    def counts(self) -> Counts:
        """What became of all records, from the first on."""
        return total(one.counts for one in (*self.before, self.stretch))

    @classmethod
    def beginning(cls, at: str, stretch: LedgerStretch) -> Place:
        """Return where a member begins, before its first batch."""
        return cls(BEGINNING, at, stretch)

    @property
    def whole(self) -> tuple[LedgerStretch, ...]:
        """All that is done with, the last batch included."""
        last = self.stretch
        if (
            not self.before
            or last.lost
            or last.replaced
            or last.start != self.before[-1].end_exclusive
        ):
            return (*self.before, last)
        return (*self.before[:-1], self.before[-1] + last)

    def following(self, batch: int, at: str, stretch: LedgerStretch) -> Place:
        """Return the place after one more batch."""
        return Place(batch, at, stretch, self.whole)

    def counted(self, counts: Counts) -> Place:
        """Return it with what became of the last batch's records; refuse what does not add up."""
        return replace(self, stretch=replace(self.stretch, counts=counts))


def entries_of(number: int, places: Sequence[Place]) -> list[LedgerEntry]:
    """Return the batches of a partition that a ledger still has, and the sum of those before.

    `places` are in the order of the ledger. Where compaction took some, the next one has their sum;
    one that goes back stays where it is, for it was written by somebody who had no right to.
    """
    found: list[LedgerEntry] = []
    end: int | None = None
    for place in places:
        before = place.before[-1].end_exclusive if place.before else None
        if end is None or (before is not None and before > end):
            found = [LedgerEntry(BEGINNING, place.at, {number: one}) for one in place.before]
        found.append(LedgerEntry(place.batch, place.at, {number: place.stretch}))
        end = place.stretch.end_exclusive
    return found


def now_text() -> str:
    """Return the time for a ledger: UTC, ISO-8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def place_key(member: str, topic_id: str, partition: int) -> str:
    """Return the key of the records of one partition."""
    return key_of(PLACE, member, topic_id, partition)


def key_of(*parts: str | int) -> str:
    """Return the key of a record in a ledger."""
    return json.dumps(parts, separators=(",", ":"))


def place_value(topic: ReadTopic, partition: int, place: Place) -> str:
    """Return a place as it is written; refuse one whose records are not all accounted for."""
    checked(partition, place.batch, place.stretch)
    return json.dumps(
        {
            "version": VERSION,
            **asdict(topic),
            "batch": place.batch,
            "at": place.at,
            **_stretch_fields(place.stretch),
            "before": [_stretch_fields(one) for one in place.before],
        },
        separators=(",", ":"),
    )


def read_place(where: str, value: bytes) -> tuple[ReadTopic, Place]:
    """Return what a record says; LedgerDamaged or WrittenByNewer, which name it, if it says nothing."""
    try:
        fields = json.loads(value)
        if int(fields["version"]) > VERSION:
            raise WrittenByNewer(f"the ledger's record {where}", int(fields["version"]), VERSION)
        topic = ReadTopic(fields["cluster"], fields["topic"], fields["topic_id"])
        before = tuple(map(_stretch, fields["before"]))
        return topic, Place(fields["batch"], fields["at"], _stretch(fields), before)
    except (KeyError, TypeError, ValueError) as problem:
        raise LedgerDamaged(where, repr(problem)) from None


class LedgerDamaged(Terminal):
    """A record of a ledger that cannot be read, and so does not say where an output is."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"the ledger's record {where} is damaged: {why}",
            "something else than headrace has written into the topic: give the output another name,"
            " and it begins again at starting_offsets",
        )


def _stretch_fields(stretch: LedgerStretch) -> dict[str, object]:
    return {
        "from": stretch.start,
        "to": stretch.end_exclusive,
        **({"lost": stretch.lost} if stretch.lost else {}),
        **({"replaced": stretch.replaced} if stretch.replaced else {}),
        **({"epoch": stretch.epoch} if stretch.epoch >= 0 else {}),
        **asdict(stretch.counts),
    }


def _stretch(fields: Mapping[str, Any]) -> LedgerStretch:
    return LedgerStretch(
        fields["from"],
        fields["to"],
        Counts(*_COUNTS(fields)),
        fields.get("lost", 0),
        fields.get("replaced", 0),
        fields.get("epoch", -1),
    )
