"""Replayed rows as records of a topic: the stream's own columns as JSON, and where they came from.

At least once: a step is done when each of its records was acknowledged, and one that was cut
short is sent again. `headrace.origin` names the record for ever, so that a consumer can tell.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from backfill.columns import (
    offsets_of,
    partitions_of,
    regions_of,
    times_of,
    topics_of,
)
from backfill.json_columns import TEXT, json_objects
from headrace.contract import (
    INGESTION_TS,
    METADATA,
    OFFSET,
    ORIGIN,
    PARTITION,
    REGION,
    REGION_HEADER,
    TOPIC,
)
from headrace.errors import Terminal, UsageError
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import BY_KEY, Record, Sender

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from backfill.pace import Pace
    from headrace.config.workspace import Workspace

# Which replay sent a record: a consumer that wants the live ones alone leaves these out.
REPLAY_HEADER = "headrace.replay"
SLASH = pa.scalar("/", TEXT)


class KafkaTopic:
    """A topic that takes a replay. Without a key's column, records keep their partition."""

    def __init__(
        self, workspace: Workspace, cluster: str, topic: str, run_id: str, key: str | None = None
    ) -> None:
        self.place = f"kafka:{cluster}/{topic}"
        self._key = key
        self._topic = topic
        self._run_id = run_id.encode()
        known = workspace.cluster(cluster)
        self._partitions = KafkaCluster(known).require_topic(topic)
        self._sender = Sender(known, topic)

    def write_step(
        self, _step: int, batches: Iterable[tuple[str, pa.RecordBatch]], pace: Pace
    ) -> Counter[str]:
        """Send the records of one step, and wait for all acknowledgements; returns the counts."""
        counts: Counter[str] = Counter()
        for source, batch in batches:
            _require_origin(source, batch)
            values = self._values(batch)
            for start, end in pace.pieces(len(values), values.nbytes):
                part = batch.slice(start, end - start)
                for record in self._records(part, values[start:end].to_pylist()):
                    self._sender.send(record)
                if pace.looks_at_target:
                    self._sender.close()
            counts[source] += batch.num_rows
        self._sender.close()
        return counts

    def finish(self, certificate: str) -> None:
        """Need nothing: the run keeps its certificate itself."""

    def remove(self) -> None:
        """Refuse: what is in a topic stays."""
        raise UsageError(
            f"records cannot be taken back from {self.place}",
            f"delete the topic, or leave out the records with the header {REPLAY_HEADER}",
        )

    def _values(self, batch: pa.RecordBatch) -> pa.Array:
        own = [name for name in batch.schema.names if name != METADATA]
        return json_objects(batch.select(own)).cast(pa.large_binary())

    def _records(self, batch: pa.RecordBatch, values: Sequence[bytes]) -> Iterator[Record]:
        origins = _origins(batch).to_pylist()
        regions = regions_of(batch).cast(pa.binary()).to_pylist()
        replay = (REPLAY_HEADER, self._run_id)
        keys = self._keys(batch)
        for value, key, partition, origin, region in zip(
            values, keys, self._places(batch), origins, regions, strict=True
        ):
            headers = [(ORIGIN, origin), replay]
            if region is not None:
                headers.append((REGION_HEADER, region))
            yield Record(value, key, headers, None, partition)

    def _keys(self, batch: pa.RecordBatch) -> Sequence[bytes | None]:
        if self._key is None:
            return [None] * batch.num_rows
        if self._key not in batch.schema.names:
            raise UsageError(
                f"--key {self._key}: there is no such column",
                f"there are {', '.join(name for name in batch.schema.names if name != METADATA)}",
            )
        keys: list[bytes | None] = (
            batch.column(self._key).cast(pa.string()).cast(pa.binary()).to_pylist()
        )
        return keys

    def _places(self, batch: pa.RecordBatch) -> Sequence[int]:
        if self._key is not None:
            return [BY_KEY] * batch.num_rows
        places: list[int] = partitions_of(batch).to_pylist()
        if places and max(places) >= self._partitions:
            raise Terminal(
                f"{self._topic} has {self._partitions} partitions, and there are records of"
                f" partition {max(places)}",
                "give the topic as many partitions, or name a column by --key to spread them by",
            )
        return places


def _require_origin(source: str, batch: pa.RecordBatch) -> None:
    known = set(batch.schema.names)
    if METADATA in known:
        known = {f"{METADATA}.{field.name}" for field in batch.schema.field(METADATA).type}
    missing = [
        name for name in (INGESTION_TS, TOPIC, PARTITION, OFFSET, REGION) if name not in known
    ]
    if missing:
        raise Terminal(
            f"table {source} has no {', '.join(missing)}: there is no telling where its records"
            " were in Kafka, and a replay into a topic says so of each",
            "replay it to files: --to jsonl:DIR",
        )


def _origins(batch: pa.RecordBatch) -> pa.Array:
    """Return where each record was in Kafka: topic/partition/offset/milliseconds."""
    parts = (
        topics_of(batch),
        partitions_of(batch),
        offsets_of(batch),
        pa.array(times_of(batch, INGESTION_TS).to_numpy() // 1000),
    )
    return pc.binary_join_element_wise(*(part.cast(TEXT) for part in parts), SLASH).cast(
        pa.large_binary()
    )
