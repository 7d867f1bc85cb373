"""The source topic as a query finds it before a batch: the same one, and with its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import structlog

from headrace.errors import Terminal
from headrace.kafka.truncation import TopicTruncated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kafka.cluster import KafkaCluster
    from headrace.kafka.leaders import TopicEnds
    from headrace.kafka.truncation import Reached

ADVICE: Final = (
    "To route what it has now, send that anew, or move the output's folder of the state_dir away;"
    " to go on behind what was read, and keep it in the ledger: source.on_data_loss: skip"
)
log = structlog.get_logger(__name__)


class TopicMadeAnew(Terminal):
    """A topic of the same name that is not the one an output was reading."""

    def __init__(self, topic: str, output: str) -> None:
        super().__init__(
            f"topic {topic} was deleted and made anew: output {output} has its place in the"
            " one before, and the offsets of the two are not the same records",
            "to route the new topic from its beginning, move the output's folder of the"
            " state_dir away; its old ledger stays readable there",
        )


class Gap(Terminal):
    """Records that the topic no longer has, and that were not routed."""

    def __init__(self, topic: str, output: str, gaps: Mapping[int, range]) -> None:
        self.gaps = dict(gaps)
        shown = "; ".join(
            f"{topic}-{number} @ {gap.start} to {gap.stop - 1} ({len(gap):,} records)"
            for number, gap in sorted(gaps.items())
        )
        super().__init__(
            f"output {output}: the topic no longer has records that were not routed: {shown}",
            "retention, or somebody's deletion, was faster. To go on behind the gap, and keep it"
            " in the ledger: source.on_data_loss: skip",
        )


class Truncated(Terminal):
    """A topic that ends before what was read of it."""

    def __init__(self, topic: str, output: str, partition: int, place: int, end: int) -> None:
        super().__init__(
            f"{topic}-{partition} ends at {end}, and output {output} was at {place} already:"
            " the topic lost its newest records (an unclean election of a leader?)",
            "compare the topic with its replicas; to go on, move the output's folder of the"
            " state_dir away",
        )


@dataclass(frozen=True, slots=True)
class SourceTopic:
    """The topic to read, asked anew before each batch."""

    kafka: KafkaCluster
    topic: str
    on_data_loss: Literal["fail", "skip"]

    def identity(self) -> str:
        """Return the id that the cluster gave the topic when it was made."""
        return self.kafka.topic_id(self.topic)

    def partitions(self) -> set[int]:
        """Return the partitions that there are."""
        return set(range(self.kafka.require_topic(self.topic)))

    def lost(
        self,
        output: str,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        held: Mapping[int, range],
    ) -> dict[int, int]:
        """Return how many offsets at the beginning of each partition's range are gone.

        Gap where the stream does not go on without them; Truncated where the topic went back.
        """
        gaps: dict[int, range] = {}
        if any(ends.get(number, start) < start for number, start in starts.items()):
            # A batch may also end before an output that is ahead of the others.
            self._require_not_shorter(output, starts, held)
        for number, start in starts.items():
            end = ends.get(number, start)
            first = held[number].start if number in held else start
            if start < first:
                gaps[number] = range(start, min(first, end))
        gaps = {number: gap for number, gap in gaps.items() if gap}
        if gaps:
            gap = Gap(self.topic, output, gaps)
            if self.on_data_loss == "fail":
                raise gap
            log.warning("goes on behind a gap", reason=gap.message)
        return {number: len(gap) for number, gap in gaps.items()}

    def replaced(self, output: str, read: Mapping[int, Reached], ends: TopicEnds) -> dict[int, int]:
        """Return how many offsets before an output's place hold other records by now.

        TopicTruncated where the stream does not go on behind them.
        """
        found = self.kafka.replaced(self.topic, read, ends)
        if found:
            truncated = TopicTruncated(f"output {output}", self.topic, found, ADVICE)
            if self.on_data_loss == "fail":
                raise truncated
            log.warning("goes on behind records that it has not read", reason=truncated.message)
        return {number: len(span) for number, span in found.items()}

    def _require_not_shorter(
        self, output: str, starts: Mapping[int, int], held: Mapping[int, range]
    ) -> None:
        for number, span in held.items():
            place = starts.get(number, span.stop)
            if span.stop < place:
                raise Truncated(self.topic, output, number, place, span.stop)
