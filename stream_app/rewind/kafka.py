"""Whether topics still have the records after a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.application.places import Places
    from headrace.config.app import KafkaTopics
    from headrace.config.workspace import Workspace
    from stream_app.rewind.batches import Batch

Held = dict[str, dict[int, range]]


def held_by_topics(workspace: Workspace, sources: Iterable[KafkaTopics]) -> Held:
    """Return what each partition of the topics holds now."""
    found: Held = {}
    for source in sources:
        kafka = KafkaCluster(workspace.cluster(source.cluster))
        found |= {topic: kafka.offsets(topic) for topic in source.topics if topic not in found}
    return found


def gone(places: Places, held: Mapping[str, Mapping[int, range]]) -> list[str]:
    """Say which records after these places the topics do not have any more."""
    told = []
    for topic, of in sorted(places.items()):
        spans = held.get(topic, {})
        # A partition that was not there yet is read from its beginning.
        for number in sorted(of.keys() | spans.keys()):
            at, span = of.get(number, 0), spans.get(number)
            if span is None or at > span.stop:
                told.append(f"{topic}-{number} ends before {at}")
            elif at < span.start:
                told.append(f"{topic}-{number} @ {at} to {span.start - 1}")
    return told


def judged(batch: Batch, held: Mapping[str, Mapping[int, range]]) -> Batch:
    """Return the batch with what is missing in the topics, where something is."""
    if batch.obstacle is not None:
        return batch
    missing = [told for places in batch.places for told in gone(places, held)]
    if not missing:
        return batch
    return replace(batch, obstacle=f"Kafka no longer has {'; '.join(dict.fromkeys(missing))}")
