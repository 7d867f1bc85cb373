"""Streams and lake tables over topics of their own, for tests of the stages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.config.load import load_lake_table, load_stream
from headrace.config.stream.effective import effective
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from headrace.signals import Drain
from lake_writer.writer import LakeWriter
from router.run.jobs import StreamRouter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace
    from lake_writer.landed import Landed
    from router.ledger.entries import Counts

EVENT_SCHEMA = {
    "type": "record",
    "name": "tv.Event",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "kind", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Seen:
    """A record as it lies in a topic."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def header(self, name: str) -> bytes | None:
        (found,) = [value for key, value in self.headers if key == name]
        return found


def event(number: int, kind: str | None = "start", **more: object) -> bytes:
    return json.dumps(
        {"id": number, "kind": kind, "at": 1_772_323_200_000 + number, **more}
    ).encode()


@dataclass(frozen=True)
class Pipelines:
    """A workspace with the shared broker; every topic and table is named by the test."""

    workspace: Workspace

    def make_topic(self, topic: str, partitions: int = 1, cluster: str = "fronting") -> None:
        KafkaCluster(self.workspace.cluster(cluster)).ensure_topic(topic, partitions)

    def send(
        self, topic: str, records: Iterable[KafkaRecord | bytes], cluster: str = "fronting"
    ) -> int:
        sender = Sender(self.workspace.cluster(cluster), topic)
        for record in records:
            sender.send(record if isinstance(record, KafkaRecord) else KafkaRecord(record))
        return sender.close()

    def seen(self, topic: str, cluster: str = "consumer") -> list[Seen]:
        """Return what is in a topic, partition by partition, offset by offset."""
        records = [
            Seen(
                message.partition() or 0,
                message.offset() or 0,
                message.timestamp()[1],
                _bytes(message.key()),
                _bytes(message.value()),
                tuple((str(one[0]), _bytes(one[1])) for one in message.headers() or ()),
            )
            for message in KafkaCluster(self.workspace.cluster(cluster)).records(topic)
        ]
        return sorted(records, key=lambda record: (record.partition, record.offset))

    def write(self, name: str, content: object) -> Path:
        """Write a file of the workspace; YAML reads JSON."""
        path = self.workspace.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def stream(self, topic: str, outputs: Sequence[Mapping[str, object]], **more: object) -> Path:
        """Write a stream that reads `topic`; an output is its name, and what is not as usual."""
        self.write("schemas/event.avsc", EVENT_SCHEMA)
        source = {"type": "kafka", "cluster": "fronting", "topic": topic, "format": "json"}
        return self.write(
            f"streams/{topic}.yaml",
            {
                "kind": "stream",
                "name": topic,
                "source": source | {"schema": "schemas/event.avsc"},
                "outputs": [self._output(topic, output) for output in outputs],
                **more,
            },
        )

    def _output(self, topic: str, output: Mapping[str, object]) -> dict[str, object]:
        sink: Mapping[str, object] = {
            "type": "kafka",
            "cluster": "consumer",
            "topic": f"{topic}.{output['name']}",
            "format": "json",
        }
        own = output.get("sink")
        if isinstance(own, dict) and own.get("type", "kafka") != "kafka":
            return dict(output)
        return {**output, "sink": {**sink, **(own if isinstance(own, dict) else {})}}

    def route(
        self,
        spark: SparkSession,
        path: Path,
        only: Sequence[str] = (),
        begin_again: Sequence[str] = (),
    ) -> Mapping[str, Counts]:
        """Route what is there now."""
        router = self.router(path, only, begin_again)
        router.prepare()
        return router.run(spark, Drain(), once=True)

    def router(
        self, path: Path, only: Sequence[str] = (), begin_again: Sequence[str] = ()
    ) -> StreamRouter:
        """Return the router of a stream's file."""
        stream = effective(load_stream(path, self.workspace), self.workspace, None)
        return StreamRouter(self.workspace, stream, only, begin_again)

    def table(
        self, name: str, topic: str, schema: Mapping[str, object] | None = None, **more: object
    ) -> Path:
        """Write a lake table `lake.tv.<name>` that reads `topic`."""
        self.write(f"schemas/{name}.avsc", schema or EVENT_SCHEMA)
        source = {"type": "kafka", "cluster": "fronting", "topic": topic, "format": "json"}
        target = {"catalog": "lake", "database": "tv", "table": name}
        partitions = {"partition_by": ["day(__metadata__.kafka_ingestion_ts)"]}
        return self.write(
            f"tables/{name}.yaml",
            {
                "kind": "lake_table",
                "name": name,
                "source": source | {"schema": f"schemas/{name}.avsc"},
                "table": target | partitions,
                **more,
            },
        )

    def land(self, spark: SparkSession, path: Path) -> Landed:
        """Land what is there now."""
        writer = LakeWriter(self.workspace, load_lake_table(path, self.workspace))
        writer.prepare()
        return writer.run(spark, Drain(), once=True)


def _bytes(value: object) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else None
