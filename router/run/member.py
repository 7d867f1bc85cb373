"""An output, or the quarantine, as a query carries it: its ledger, its position, its lag."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import structlog

from headrace.errors import Terminal, Transient
from headrace.kafka.leaders import Reached
from headrace.kafka.source_topic import Reader, require_same
from router.ledger.entries import BEGINNING, Counts, LedgerEntry, LedgerStretch
from router.ledger.file import Header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kafka.groups import GroupOffsets
    from headrace.kafka.source_topic import SourceTopic
    from router.ledger.file import LedgerFile
    from router.plan.model import Source

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Member:
    """Knows where it is, and forgets nothing."""

    stream: str
    name: str
    source: Source
    starting_offsets: Literal["earliest", "latest"]
    ledger: LedgerFile
    group: GroupOffsets
    counts: Counts = field(default_factory=Counts)

    @property
    def reader(self) -> Reader:
        """It as a reader of its topic."""
        return Reader(
            f"output {self.name}",
            "to route the topic as it is now, move the output's folder out of the state_dir: the "
            "output begins again at starting_offsets, and the moved ledger stays readable",
            "to continue after the gap, and keep it in the ledger: source.on_data_loss: skip",
        )

    @property
    def reached(self) -> dict[int, Reached]:
        """The next offset of each partition, and a leader's epoch that is known to have had it."""
        return {
            number: Reached(stretch.end_exclusive, stretch.epoch)
            for number, stretch in self.ledger.last.items()
        }

    def begin(self, source: SourceTopic) -> None:
        """Make sure of its position: where it was, or for a new one where its stream says."""
        if self.ledger.header is not None:
            self.require_same(source.identity())
            return
        topic = self.source.topic
        header = Header(self.stream, self.name, self.source.cluster, topic, source.identity())
        ends = source.kafka.ends(topic)
        stretches = {
            number: LedgerStretch(at, at, Counts(), epoch=ends.epoch(number, at))
            for number, at in ends.starting_offsets(self.starting_offsets).items()
        }
        self.ledger.begin(header, LedgerEntry(BEGINNING, now_text(), stretches))
        log.info("an output begins", output=self.name, at=self.starting_offsets)

    def require_same(self, topic_id: str) -> None:
        """Refuse a topic that is not the one that its position is in."""
        header = self.ledger.header
        if header is None:
            return
        if header.topic != self.source.topic:
            raise Terminal(
                f"output {self.name} has its position in topic {header.topic}, but the stream now "
                f"reads {self.source.topic}",
                "give the output another name, and it begins in the new topic; or move the folder "
                f"{self.ledger.path.parent} away",
            )
        require_same(self.reader, header.topic, header.topic_id, topic_id)

    def record(self, stretches: Mapping[int, LedgerStretch]) -> None:
        """Keep a batch; its records are done with from here on."""
        entry = LedgerEntry(self.ledger.entries[-1].batch + 1, now_text(), stretches)
        self.ledger.append(entry)
        self.counts += entry.counts
        log.info("batch routed", output=self.name, batch=entry.batch, **entry.counts.shown)
        try:
            self.group.commit(self.source.topic, self.ledger.positions)
        except Transient as problem:
            # Only what others see of our lag: the next batch commits it as well.
            log.warning("the lag could not be read", output=self.name, reason=problem.message)


def now_text() -> str:
    """Return the time for a ledger: UTC, ISO-8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
