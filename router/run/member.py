"""An output, or the quarantine, as a query carries it: its ledger, its place, its lag."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import structlog

from headrace.errors import Terminal, Transient
from headrace.kafka.truncation import Reached
from router.ledger import Counts, Entry, Stretch
from router.ledger_file import Header
from router.source import TopicMadeAnew

if TYPE_CHECKING:
    from headrace.kafka.groups import GroupPlace
    from router.ledger_file import LedgerFile
    from router.plan import Source
    from router.source import SourceTopic

# The batch of the first entry, which says where a member began.
BEGINNING = -1
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Member:
    """Knows where it is, and forgets nothing."""

    stream: str
    name: str
    source: Source
    starting_offsets: Literal["earliest", "latest"]
    ledger: LedgerFile
    group: GroupPlace
    counts: Counts = field(default_factory=Counts)

    @property
    def places(self) -> dict[int, int]:
        """The next offset of each partition that it knows."""
        return self.ledger.positions

    @property
    def reached(self) -> dict[int, Reached]:
        """The next offset of each partition, and a leader's epoch that is known to have had it."""
        epochs = self.ledger.epochs
        return {number: Reached(at, epochs[number]) for number, at in self.places.items()}

    def begin(self, source: SourceTopic) -> None:
        """Make sure of its place: where it was, or for a new one where its stream says."""
        if self.ledger.header is not None:
            self.require_same(source.identity())
            return
        topic = self.source.topic
        header = Header(self.stream, self.name, self.source.cluster, topic, source.identity())
        ends = source.kafka.ends(topic)
        at = {
            number: span.start if self.starting_offsets == "earliest" else span.stop
            for number, span in ends.spans.items()
        }
        stretches = {
            number: Stretch(place, place, Counts(), epoch=ends.epoch(number, place))
            for number, place in at.items()
        }
        self.ledger.begin(header, Entry(BEGINNING, now_text(), stretches))
        log.info("an output begins", output=self.name, at=self.starting_offsets)

    def require_same(self, topic_id: str) -> None:
        """Refuse a topic that is not the one that its place is in."""
        header = self.ledger.header
        if header is None:
            return
        if header.topic != self.source.topic:
            raise Terminal(
                f"output {self.name} has its place in topic {header.topic},"
                f" and the stream now reads {self.source.topic}",
                "give the output another name, and it begins anew there; or move the folder"
                f" {self.ledger.path.parent} away",
            )
        if header.topic_id != topic_id:
            raise TopicMadeAnew(header.topic, self.name)

    def record(self, entry: Entry) -> None:
        """Keep a batch; its records are done with from here on."""
        self.ledger.append(entry)
        self.counts += entry.counts
        try:
            self.group.commit(self.source.topic, self.places)
        except Transient as problem:
            # Only what others see of our lag: the next batch commits it as well.
            log.warning("the lag is not shown", output=self.name, reason=problem.message)


def now_text() -> str:
    """Return the time for a ledger: UTC, ISO-8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
