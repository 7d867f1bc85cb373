"""Iceberg's own sink connector for Kafka Connect: the peer of a lake writer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.arena import RAW_TOPIC
from benchmarks.checks import METADATA, landed
from benchmarks.connect import (
    RECORDS_PER_POLL,
    TASKS,
    Connector,
    asked,
    connect_command,
    worker_topics,
)
from benchmarks.lake import CATALOG, NAMESPACE, TABLE, Lake
from benchmarks.model import Run
from benchmarks.peer import said_work_s

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena

COMMIT_EVERY_MS = 5000
# A task whose topic has nothing more to give hears of a commit only when it wakes for this; with
# the minute that is the default, the end of a topic that ends would be waited for, not worked on.
WAKE_EVERY_MS = 1000


def iceberg_connect(arena: Arena, folder: Path) -> Run:
    """Prepare a worker with IcebergSinkConnector on a table of the same columns."""
    run = _run(arena, folder, None)
    return replace(run, command=replace(run.command, warm=None))


def warm_iceberg_connect(arena: Arena, folder: Path, rows_before: int) -> Run:
    """Prepare the same in a worker that has landed so many rows in another table before."""
    return _run(arena, folder, rows_before)


def _run(arena: Arena, folder: Path, rows_before: int | None) -> Run:
    lake, connector, controls = _landing(arena, folder, folder.name)
    before = None
    if rows_before is not None:
        other, first, more = _landing(arena, folder / "before", f"{folder.name}-before")
        before = {"connector": asked(first), "rows": rows_before, **_watched(other)}
        controls += more
    watched = {**_watched(lake), "before": before}
    return Run(
        connect_command("iceberg_connect", arena, folder, connector, watched),
        check=lambda _: landed(arena, lake.data_files()),
        work_s=said_work_s,
        clean_up=lambda: arena.drop_topics(*controls, *worker_topics(connector.name)),
    )


def _landing(arena: Arena, folder: Path, name: str) -> tuple[Lake, Connector, list[str]]:
    """Return an empty table, the connector that fills it, and the topics that this one needs."""
    folder.mkdir(exist_ok=True)
    lake = Lake(folder)
    lake.create_table()
    control = f"control-{name}"
    # The sink waits for it, and does not make it.
    arena.kafka.ensure_topic(control, 1)
    return lake, sink_connector(lake, RAW_TOPIC, name, control), [control]


def _watched(lake: Lake) -> dict[str, object]:
    return {"catalog": str(lake.file), "name": [CATALOG, NAMESPACE, TABLE]}


def sink_connector(lake: Lake, topic: str, name: str, control: str) -> Connector:
    """Return the connector that lands a topic, each record with where Kafka had it."""
    settings = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": str(TASKS),
        "topics": topic,
        "iceberg.tables": f"{NAMESPACE}.{TABLE}",
        "iceberg.catalog.type": "jdbc",
        "iceberg.catalog.uri": f"jdbc:sqlite:{lake.file}",
        "iceberg.catalog.warehouse": str(lake.warehouse),
        "iceberg.catalog.jdbc.schema-version": "V1",
        "iceberg.catalog.io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
        "iceberg.control.topic": control,
        "iceberg.control.commit.interval-ms": str(COMMIT_EVERY_MS),
        "consumer.override.auto.offset.reset": "earliest",
        "consumer.override.max.poll.records": str(RECORDS_PER_POLL),
        "transforms": "metadata",
        "transforms.metadata.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
        "transforms.metadata.field_name": METADATA,
        "transforms.metadata.nested": "true",
    }
    return Connector(name, settings, {"offset.flush.interval.ms": str(WAKE_EVERY_MS)})
