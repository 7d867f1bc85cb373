"""Live topics as a Spark stream: offsets are positions in Kafka, rows are made by our own tasks.

Spark's own connector is not used: a table's rows and a live source's are to come out of the same
decoder, a record that no clock could have made must not end the stream, and what was read shows
as the lag of a consumer group.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from headrace.application.ahead_of_time import Ahead
from headrace.application.live_task import LivePlan, quarantines_of, read
from headrace.config.app.file import KafkaTopics
from headrace.config.load import load_app, load_workspace
from headrace.contract import with_metadata
from headrace.errors import Terminal, Transient
from headrace.jvm.relay import RELAY, RelayAddress
from headrace.jvm.sizes import cores
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.groups import ShownOffsets
from headrace.kafka.leaders import NO_EPOCH, Reached
from headrace.kafka.positions import (
    capped,
    epochs_from_json,
    forward,
    from_json,
    shared_out,
    stretches,
    to_json,
    within,
)
from headrace.kafka.source_topic import Reader, SourceTopic, require_not_shorter, require_same
from headrace.landing.topic_values import values_of
from headrace.schema.avro import stored_avro
from headrace.schema.spark import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Cluster
    from headrace.kafka.leaders import TopicEnds
    from headrace.kafka.positions import Epochs, Positions, TopicRange

NAME: Final = "headrace_live"
# The most records of a batch: a query that was away for a day reports its progress in between.
MOST_RECORDS: Final = 1_000_000
# Spark asks ten times a second where the topics end; Kafka is asked this often.
ASK_EVERY_S: Final = 0.5
# Brokers may be away for so long before a query ends of it.
PATIENCE_S: Final = 300.0
ADVICE: Final = (
    "replay the lost records from the lake (backfill replay), and start live with a new state_dir; "
    "or rewind the application to before the gap (headrace rewind)"
)


class LiveSource(DataSource):
    """`spark.readStream.format("headrace_live")`, as `headrace.application.live` opens it.

    The options are `workspace`, `app` (a path), `source` (whose name in that file), `schema`
    (Avro), `fresh` (`true` where the checkpoint has no batch yet), `ahead` (as `ahead_of_time` has
    it) where there is a bound, and `until` (positions as JSON) where it is to end by itself. `tasks` is
    among how many a batch is shared out; `relay_token` is where tasks on other machines find us.
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> StructType:
        """Return the schema's columns and `__metadata__`, as the table has them."""
        record = stored_avro(self.options["schema"], "the source's schema")
        return StructType.fromJson(to_spark(with_metadata(record)))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's name
        """Return the reader of the topics."""
        return live_reader(self.options)


def live_reader(options: Mapping[str, str]) -> LiveReader:
    """Return the reader of the topics that options name."""
    workspace = load_workspace(Path(options["workspace"]))
    app = load_app(Path(options["app"]), workspace)
    name = options["source"]
    source = topics_of(app, name)
    cluster, reader = workspace.cluster(source.cluster), f"{app.config.name}.{name}"
    record, ahead = stored_avro(options["schema"], "the source's schema"), Ahead.of_options(options)
    plan = LivePlan(
        reader=reader,
        topics=source.topics,
        properties=cluster.client_properties(),
        region=cluster.region,
        values=values_of(workspace, source, record, source.hygiene, reader),
        quarantines=quarantines_of(workspace, cluster, source, ahead),
        folder=rejected_folder(workspace.state_dir, app, name),
        ahead=ahead,
        relay=RelayAddress.of_json(options.get(RELAY)),
        tasks=int(options.get("tasks") or cores()),
    )
    until = json.loads(options["until"]) if "until" in options else None
    return LiveReader(
        plan,
        cluster,
        source.starting_offsets,
        None if until is None else from_json(until),
        fresh=options.get("fresh") == "true",
    )


def topics_of(app: LoadedApp, name: str) -> KafkaTopics:
    """Return the live source of that name."""
    source = app.config.sources.get(name)
    if not isinstance(source, KafkaTopics):
        raise Terminal(f"{app.config.name} has no live source {name}")
    return source


def rejected_folder(state_dir: Path, app: LoadedApp, name: str) -> Path:
    """Return where the tasks of a source keep how many records they rejected."""
    return state_dir / "app" / app.config.name / "turned_away" / name


@dataclass
class Share(InputPartition):
    """What one task reads."""

    stretches: Sequence[TopicRange]


class LiveReader(DataSourceStreamReader):
    """The topics of one source, batch by batch."""

    def __init__(
        self,
        plan: LivePlan,
        cluster: Cluster,
        starting_offsets: str,
        until: Positions | None,
        *,
        fresh: bool,
    ) -> None:
        self._plan = plan
        self._cluster = cluster
        self._starting_offsets = starting_offsets
        self._until = until
        self._fresh = fresh
        self._begin: Positions | None = None
        self._at: dict[str, Any] | None = None
        self._seen: Positions = {}
        self._ends: dict[str, TopicEnds] = {}
        self._ids: dict[str, str] = {}
        self._asked_at_s = float("-inf")
        self._kafka: KafkaCluster | None = None
        self._shown: ShownOffsets | None = None
        self._begun: Positions | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where the very first start begins."""
        return to_json(self._beginning())

    def latestOffset(  # noqa: N802 - Spark's name
        self,
        start: dict[str, Any] | None = None,
        limit: object = None,  # noqa: ARG002 - Spark 4.2 gives both, Spark 4.1 none
    ) -> dict[str, Any]:
        """Return the end of the next batch, of a bounded size; where nothing is new, of the last."""
        if start is None:
            # Spark asks for the first batch's end before it asks for its beginning.
            start = self.initialOffset() if self._at is None and self._fresh else self._at
        at = None if start is None else from_json(start)
        epochs = {} if start is None else epochs_from_json(start)
        if time.monotonic() - self._asked_at_s >= ASK_EVERY_S:
            try:
                self._see_ends(at or {}, epochs)
            except Transient:
                if start is None or not self._is_patient:
                    raise
                return start
            self._asked_at_s = time.monotonic()
        to = self._seen if at is None else forward(at, capped(at, self._seen, MOST_RECORDS))
        self._at = to_json(to, self._epochs_at(to, at or {}, epochs))
        if self._begun is not None:
            # Spark asks on when the batch before is done, and tells of it only with the next one:
            # where a topic falls silent, never.
            self._show(self._begun)
        return self._at

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Share out what lies in between; a partition's records stay with one task, in order."""
        # Spark asks for the last batch again at a restart: this is how we learn where it is.
        self._at, self._begun = end, from_json(end)
        found = stretches(from_json(start), self._begun)
        return [Share(part) for part in shared_out(found, self._plan.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a task's offsets, as Arrow."""
        if isinstance(partition, Share):
            yield from read(self._plan, partition.stretches)

    def commit(self, end: dict[str, Any]) -> None:
        """Let ordinary tools see how far this is; Spark's log is what a restart goes by."""
        self._show(from_json(end))

    def stop(self) -> None:
        """Let go of the connections."""
        if self._shown is not None:
            self._shown.close()

    def __getstate__(self) -> dict[str, Any]:
        # Tasks read by the plan alone. Connections stay where they are, and so do the secrets of a
        # cluster, which nobody pickles.
        return {**self.__dict__, "_cluster": None, "_kafka": None, "_shown": None}

    @property
    def _is_patient(self) -> bool:
        """Whether brokers that do not answer are waited for; what is to end by itself does not."""
        return self._until is None and time.monotonic() - self._asked_at_s < PATIENCE_S

    def _show(self, positions: Positions) -> None:
        if self._shown is None:
            self._shown = ShownOffsets(self._cluster, f"headrace.{self._plan.reader}")
        self._shown.show(positions)

    def _beginning(self) -> Positions:
        if self._begin is None:
            self._begin = {
                topic: ends.starting_offsets(self._starting_offsets)
                for topic, ends in self._held().items()
            }
        return self._begin

    def _held(self) -> dict[str, TopicEnds]:
        return {topic: self._connected().ends(topic) for topic in self._plan.topics}

    def _identities(self) -> dict[str, str]:
        return {topic: self._connected().topic_id(topic) for topic in self._plan.topics}

    def _connected(self) -> KafkaCluster:
        if self._kafka is None:
            self._kafka = KafkaCluster(self._cluster)
        return self._kafka

    def _see_ends(self, at: Positions, epochs: Epochs) -> None:
        """Learn where the topics end; refuse ones that are not those of which `at` was read."""
        ends, reader = self._held(), Reader(self._plan.reader, ADVICE)
        # Asked after the ends: with the same ids, the ends are of the same topics.
        ids = self._identities()
        self._ids = self._ids or ids
        for topic, positions in at.items():
            if topic in ids:
                require_same(reader, topic, self._ids[topic], ids[topic])
            spans = ends[topic].spans if topic in ends else {}
            require_not_shorter(reader, topic, positions, spans)
            source = SourceTopic(self._connected(), topic)
            source.lost(reader, positions, spans)
            known = epochs.get(topic, {})
            read = {number: Reached(positions[number], epoch) for number, epoch in known.items()}
            if read:
                source.replaced(reader, read, ends[topic])
        self._ends = ends
        self._seen = within({topic: of.next_offsets for topic, of in ends.items()}, self._until)

    def _epochs_at(self, to: Positions, at: Positions, epochs: Epochs) -> Epochs:
        """Return the epochs of leaders that have all before these positions.

        Where nothing is new it stays the one that it was: another would be a batch to Spark.
        """
        found: Epochs = {}
        for topic, of in to.items():
            before, known = at.get(topic, {}), epochs.get(topic, {})
            ends = self._ends.get(topic)
            found[topic] = {
                number: epoch
                for number, offset in of.items()
                if (
                    epoch := known.get(number, NO_EPOCH)
                    if offset == before.get(number) or ends is None
                    else ends.epoch(number, offset)
                )
                != NO_EPOCH
            }
        return found
