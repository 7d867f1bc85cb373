"""Which topics a checkpoint's offsets are of: a topic of the same name may be another one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from headrace.config.app.file import HybridSource, KafkaTopics
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.source_topic import Reader, TopicRecreated
from headrace.queries.checkpoint import keep
from headrace.queries.checkpoint import kept as read_kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from headrace.queries.checkpoint import Place

KEPT: Final = "topics.json"


def topics_behind(app: LoadedApp, names: Iterable[str]) -> list[KafkaTopics]:
    """Return the topics that sources read, by their names in the file; a table has none."""
    found = []
    for name in names:
        source = app.config.sources[name]
        if isinstance(source, HybridSource):
            source = app.config.sources[source.live]
        if isinstance(source, KafkaTopics):
            found.append(source)
    return found


def topic_ids(workspace: Workspace, sources: Iterable[KafkaTopics]) -> dict[str, str]:
    """Return the id that each topic was given when it was made, by `cluster/topic`."""
    found: dict[str, str] = {}
    for source in sources:
        kafka = KafkaCluster(workspace.cluster(source.cluster))
        found |= {f"{source.cluster}/{topic}": kafka.topic_id(topic) for topic in source.topics}
    return found


def stored_topic_ids(checkpoint: Place) -> dict[str, str]:
    """Return the ids of the topics that a checkpoint's offsets are of."""
    kept = checkpoint.with_name(KEPT)
    if not checkpoint.exists() or not kept.exists():
        return {}
    return read_kept(kept, dict[str, str], f"restore it, or remove {checkpoint.parent}")


def store_topic_ids(checkpoint: Place, ids: Mapping[str, str]) -> None:
    """Refuse topics that are not those of the checkpoint; keep which ones they are."""
    known = stored_topic_ids(checkpoint)
    refuse_recreated(known, ids)
    keep(checkpoint.with_name(KEPT), json.dumps({**known, **ids}).encode())


def refuse_recreated(known: Mapping[str, str], ids: Mapping[str, str]) -> None:
    """Refuse topics whose id is another than it was."""
    for topic, its_id in ids.items():
        if known.get(topic, its_id) != its_id:
            advice = "start over with another name in the file or another state_dir"
            raise TopicRecreated(Reader("the application", advice), topic)
