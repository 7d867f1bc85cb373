"""What an application can go back to: each batch is checked against topics, tables and state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from backfill.run import tags as replay_tags
from backfill.run.planning import sources_of
from backfill.run.request import state_of
from headrace.config.app.file import HybridSource
from headrace.errors import Terminal
from headrace.iceberg.catalog import load_table
from headrace.kafka.cluster import KafkaCluster
from stream_app.follow import tags
from stream_app.rewind import cut
from stream_app.rewind.batches import committed_batches
from stream_app.rewind.state_files import QueryState
from stream_app.topics import refuse_recreated, stored_topic_ids, topic_ids, topics_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from backfill.plan.plan import Plan
    from backfill.run.state import RunState
    from headrace.config.app.file import KafkaTopics
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.positions import Positions
    from stream_app.rewind.batches import Batch


@dataclass(frozen=True, slots=True)
class RewindHistory:
    """The batches of an application, the newest first, each with what stands in its way."""

    workspace: Workspace
    batches: tuple[Batch, ...]
    # Of a query with hybrid sources: the run over the tables that it began with.
    replayed: RunState | None

    def hold(self, batch: Batch, holder: str) -> None:
        """Tag the snapshots that the batch goes on from, beside those that are tagged already."""
        if self.replayed is not None and _is_within(batch, plan := self.replayed.plan()):
            for source in sources_of(self.workspace, plan).values():
                replay_tags.hold(source, self.replayed.run_id)
        for name, needed in batch.needed.items():
            table = load_table(self.workspace, name)
            tags.move(table, holder, needed | tags.held(table, holder))


def history_of(app: LoadedApp, workspace: Workspace, state: Path) -> RewindHistory:
    """Check all batches of a checkpoint; nothing is changed."""
    checkpoint = state / cut.CHECKPOINT
    found = committed_batches(checkpoint)
    if not found:
        raise Terminal(
            f"application {app.config.name} has no committed batch in {checkpoint}",
            "check the file and the workspace; headrace run -c … starts the application",
        )
    names = _sources_begun_with(app, state)
    sources = topics_behind(app, names)
    refuse_recreated(stored_topic_ids(checkpoint), topic_ids(workspace, sources))
    spans, stores = _spans_of_topics(workspace, sources), QueryState(checkpoint / "state")
    replayed = None

    @cache
    def snapshots(table: str) -> set[int]:
        return {one.snapshot_id for one in load_table(workspace, table).metadata.snapshots}

    obstacles: list[Callable[[Batch], str | None]] = [
        lambda batch: stores.missing(batch.number),
        lambda batch: _missing_in_kafka(batch, spans),
        lambda batch: _expired(batch, snapshots),
    ]
    if any(isinstance(app.config.sources[name], HybridSource) for name in names):
        replayed = state_of(workspace, f"hybrid-{app.config.name}")
        plan = replayed.plan()
        # As the tables are now.
        expired = [
            one.name
            for one in plan.sources
            if one.snapshot_id is not None and one.snapshot_id not in snapshots(one.name)
        ]
        reason = f"its snapshot of {', '.join(expired)} has expired"
        obstacles.append(lambda batch: reason if expired and _is_within(batch, plan) else None)
    checked = (_checked(batch, obstacles) for batch in found)
    return RewindHistory(workspace, tuple(checked), replayed)


def _checked(batch: Batch, obstacles: Iterable[Callable[[Batch], str | None]]) -> Batch:
    """Return the batch with the first obstacle that is found."""
    if batch.obstacle is not None:
        return batch
    return replace(batch, obstacle=next((why for find in obstacles if (why := find(batch))), None))


def _is_within(batch: Batch, plan: Plan) -> bool:
    steps = len(plan.steps)
    return any(one["past"]["step"] < steps for one in batch.offsets if "past" in one)


def _expired(batch: Batch, snapshots: Callable[[str], set[int]]) -> str | None:
    """Say which followed table no longer has a snapshot that the batch needs."""
    lost = (table for table, needed in batch.needed.items() if not needed <= snapshots(table))
    return next((f"its snapshot of {table} has expired" for table in lost), None)


def missing_records(positions: Positions, spans: Mapping[str, Mapping[int, range]]) -> list[str]:
    """Say which records after these positions the topics do not have any more."""
    missing = []
    for topic, of in sorted(positions.items()):
        of_topic = spans.get(topic, {})
        # A partition that was not there yet is read from its beginning.
        for number in sorted(of.keys() | of_topic.keys()):
            at, span = of.get(number, 0), of_topic.get(number)
            if span is None or at > span.stop:
                missing.append(f"{topic}-{number} ends before {at}")
            elif at < span.start:
                missing.append(f"{topic}-{number} @ {at} to {span.start - 1}")
    return missing


def _missing_in_kafka(batch: Batch, spans: Mapping[str, Mapping[int, range]]) -> str | None:
    missing = [one for positions in batch.positions for one in missing_records(positions, spans)]
    return f"Kafka no longer has {'; '.join(dict.fromkeys(missing))}" if missing else None


def _spans_of_topics(
    workspace: Workspace, sources: Iterable[KafkaTopics]
) -> dict[str, dict[int, range]]:
    """Return the offsets that each partition of the topics has now."""
    found: dict[str, dict[int, range]] = {}
    for source in sources:
        kafka = KafkaCluster(workspace.cluster(source.cluster))
        found |= {topic: kafka.offsets(topic) for topic in source.topics if topic not in found}
    return found


def _sources_begun_with(app: LoadedApp, state: Path) -> list[str]:
    """Return the sources that the checkpoint's offsets are of, by their names in the file."""
    begun = cut.sources_begun_with(state)
    for name, candidate in begun.items():
        if candidate not in app.config.sources:
            raise Terminal(
                f"{app.config.name} was started with {candidate} for {name}, but its file no longer "
                "has this source",
                "put that source back into the file",
            )
    return list(begun.values())
