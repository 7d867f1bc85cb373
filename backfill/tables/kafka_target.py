"""Replayed rows as records of a topic: key, value and headers as they were, and where they came from.

Key and headers are what the table keeps of them. Without that, a record has those of ours alone.

At least once: a step is done when each of its records was acknowledged, and one that was cut
short is sent again. `headrace.origin` names the record for ever, so that a consumer can tell.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from backfill.read.batch_columns import headers_of, keys_of, positions_of, regions_of
from backfill.tables.json_columns import TEXT
from backfill.tables.kafka_values import encoder
from headrace.contract import (
    INGESTION_TS,
    KEY,
    METADATA,
    OFFSET,
    ORIGIN,
    PARTITION,
    REGION,
    REGION_HEADER,
    RESERVED,
    TOPIC,
)
from headrace.errors import Terminal, UsageError
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import BY_KEY, KafkaRecord, Sender
from headrace.records.arrow import times_of
from headrace.registry.address import RegistryAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from backfill.read.source import LakeSource
    from backfill.run.pace import Pace
    from backfill.tables.kafka_values import Encoding
    from headrace.config.workspace.workspace import Workspace

# Which replay sent a record: a consumer that wants the live ones alone leaves these out.
REPLAY_HEADER = "headrace.replay"
SLASH = pa.scalar("/", TEXT)


class KafkaTopic:
    """A topic that takes a replay. Without a key's column, records keep their partition."""

    def __init__(
        self,
        workspace: Workspace,
        location: tuple[str, str],
        run_id: str,
        key: str | None,
        encoding: Encoding,
    ) -> None:
        cluster, topic = location
        self.location = f"kafka:{cluster}/{topic}"
        self._key = key
        self._topic = topic
        self._run_id = run_id.encode()
        self._encoding = encoding
        self._cache_dir = workspace.state_dir / "registry"
        self._encode: dict[str, Callable[[pa.RecordBatch], pa.Array]] = {}
        known = workspace.cluster(cluster)
        self._partitions = KafkaCluster(known).require_topic(topic)
        self._sender = Sender(known, topic)

    def begin(self, sources: Mapping[str, LakeSource]) -> None:
        """Learn how each table's values are written; a registry gets to know Avro's schemas."""
        url = self._encoding.registry
        registry = None if url is None else RegistryAddress(url, self._cache_dir)
        for name, source in sources.items():
            form = self._encoding.formats.get(name, "json")
            self._encode[name] = encoder(source, self._topic, form, registry)

    def write_step(
        self, _step: int, batches: Iterable[tuple[str, pa.RecordBatch]], pace: Pace
    ) -> Counter[str]:
        """Send the records of one step, and wait for all acknowledgements; returns the counts."""
        counts: Counter[str] = Counter()
        for source, batch in batches:
            _require_origin(source, batch)
            values = self._encode[source](batch)
            is_raw = self._encoding.formats.get(source) == "raw"
            for start, end in pace.pieces(len(values), values.nbytes):
                part = batch.slice(start, end - start)
                for record in self._records(part, values[start:end].to_pylist(), is_raw=is_raw):
                    self._sender.send(record)
                if pace.rate == "auto":
                    # How long a piece took to arrive is measured before the next one goes.
                    self._sender.close()
            counts[source] += batch.num_rows
        self._sender.close()
        return counts

    def finish(self, certificate: str) -> None:
        """Need nothing: the run keeps its certificate itself."""

    def _records(
        self, batch: pa.RecordBatch, values: Sequence[bytes | None], *, is_raw: bool
    ) -> Iterator[KafkaRecord]:
        origins = _origins(batch).to_pylist()
        regions = regions_of(batch).cast(pa.binary()).to_pylist()
        replay = (REPLAY_HEADER, self._run_id)
        keys = self._keys(batch, is_raw=is_raw)
        for value, key, partition, origin, region, kept in zip(
            values,
            keys,
            self._partitions_of(batch),
            origins,
            regions,
            headers_of(batch),
            strict=True,
        ):
            headers = [*kept, (ORIGIN, origin), replay]
            if region is not None and all(name != REGION_HEADER for name, _ in kept):
                headers.append((REGION_HEADER, region))
            yield KafkaRecord(value, key, headers, None, partition)

    def _keys(self, batch: pa.RecordBatch, *, is_raw: bool) -> Sequence[bytes | None]:
        if self._key is None:
            kept = keys_of(batch)
            if is_raw and kept is None and _is_binary(batch, KEY):
                kept = batch.column(KEY)
            return [None] * batch.num_rows if kept is None else kept.to_pylist()
        own = [name for name in batch.schema.names if name not in RESERVED]
        if self._key not in own:
            raise UsageError(
                f"--key {self._key}: there is no such column", f"there are {', '.join(own)}"
            )
        column = batch.column(self._key)
        if not _is_binary(batch, self._key):
            column = column.cast(pa.string()).cast(pa.binary())
        keys: list[bytes | None] = column.to_pylist()
        return keys

    def _partitions_of(self, batch: pa.RecordBatch) -> Sequence[int]:
        if self._key is not None:
            return [BY_KEY] * batch.num_rows
        numbers: list[int] = positions_of(batch).partition.to_pylist()
        if numbers and max(numbers) >= self._partitions:
            raise Terminal(
                f"{self._topic} has {self._partitions} partitions, but there are records of "
                f"partition {max(numbers)}",
                "add partitions to the topic, or name a column with --key to choose the partition "
                "by",
            )
        return numbers


def _is_binary(batch: pa.RecordBatch, name: str) -> bool:
    held = batch.schema.field(name).type if name in batch.schema.names else None
    return held is not None and (pa.types.is_binary(held) or pa.types.is_large_binary(held))


def _require_origin(source: str, batch: pa.RecordBatch) -> None:
    known = set(batch.schema.names)
    if METADATA in known:
        known = {f"{METADATA}.{field.name}" for field in batch.schema.field(METADATA).type}
    missing = [
        name for name in (INGESTION_TS, TOPIC, PARTITION, OFFSET, REGION) if name not in known
    ]
    if missing:
        raise Terminal(
            f"table {source} has no {', '.join(missing)}: a replay into a topic writes the "
            "original offset of each record, and the table does not have it",
            "replay the table to files: --to jsonl:DIR",
        )


def _origins(batch: pa.RecordBatch) -> pa.Array:
    """Return where each record was in Kafka: topic/partition/offset/milliseconds."""
    parts = (
        *positions_of(batch),
        pa.array(times_of(batch, INGESTION_TS).to_numpy() // 1000),
    )
    return pc.binary_join_element_wise(*(part.cast(TEXT) for part in parts), SLASH).cast(
        pa.large_binary()
    )
