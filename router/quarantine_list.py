"""`router quarantine list`: what a quarantine holds of one stream, and why."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.kafka.cluster import KafkaCluster
from router.kept import Kept, Summary, kept_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.config.effective import Effective
    from headrace.config.kafka_parts import QuarantineTopic
    from headrace.config.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Listing:
    """The summary of all of a stream's bad records, and the newest of them, newest first.

    `others` counts records of other streams, and of whoever else writes to the topic.
    """

    stream: str
    cluster: str
    topic: str
    summary: Summary
    newest: Sequence[Kept]
    others: int


def listing(workspace: Workspace, stream: Effective, limit: int) -> Listing:
    """Read a stream's quarantine from its beginning to where it ends now."""
    place = quarantine_of(stream)
    name = stream.config.name
    kafka = KafkaCluster(workspace.cluster(place.cluster))
    summary, others = Summary(), Summary()

    def own() -> Iterator[Kept]:
        # A topic that is not there yet has no records.
        if place.topic not in kafka.topics():
            return
        for message in kafka.records(place.topic):
            kept = kept_of(message)
            if kept is None or kept.outputs(name) is None:
                others.add(kept)
                continue
            summary.add(kept)
            yield kept

    newest = heapq.nlargest(limit, own(), key=_age)
    count = others.records + others.foreign
    return Listing(name, place.cluster, place.topic, summary, newest, count)


def quarantine_of(stream: Effective) -> QuarantineTopic:
    """Return where a stream's bad records go."""
    place = stream.config.quarantine
    if place is None:
        raise UsageError(
            f"stream {stream.config.name} keeps no bad records", "choose on_bad_record: quarantine"
        )
    return place


def _age(kept: Kept) -> tuple[int, int, int]:
    return kept.record.timestamp_ms, kept.place.partition, kept.place.offset
