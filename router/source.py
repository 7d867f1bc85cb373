"""The source topic as a query finds it before a batch: the same one, and with its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import structlog

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kafka.cluster import KafkaCluster

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
        earliest: Mapping[int, int],
    ) -> dict[int, int]:
        """Return how many offsets at the beginning of each partition's range are gone.

        Gap where the stream does not go on without them; Truncated where the topic went back.
        """
        gaps: dict[int, range] = {}
        if any(ends.get(number, start) < start for number, start in starts.items()):
            # A batch may also end before an output that is ahead of the others.
            self._require_not_truncated(output, starts)
        for number, start in starts.items():
            end = ends.get(number, start)
            first = earliest.get(number, start)
            if start < first:
                gaps[number] = range(start, min(first, end))
        gaps = {number: gap for number, gap in gaps.items() if gap}
        if gaps:
            gap = Gap(self.topic, output, gaps)
            if self.on_data_loss == "fail":
                raise gap
            log.warning("goes on behind a gap", reason=gap.message)
        return {number: len(gap) for number, gap in gaps.items()}

    def _require_not_truncated(self, output: str, starts: Mapping[int, int]) -> None:
        for number, span in self.kafka.offsets(self.topic).items():
            place = starts.get(number, span.stop)
            if span.stop < place:
                raise Truncated(self.topic, output, number, place, span.stop)
