"""The lake writer: one topic of JSON landed in an Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.arena import PARTITIONS, RAW_TOPIC, console_script
from benchmarks.checks import landed
from benchmarks.measure import Command
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.peer import checkpoint_work_s, peer_command, said_work_s, spark_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.arena import Arena

TABLE = "lake.playback.events"
ROWS_PER_BATCH = 1_000_000
# As the lake writer makes its tables: a peer differs by its job, not by its files.
PROPERTIES = {
    "format-version": "2",
    "write.parquet.compression-codec": "zstd",
    "write.distribution-mode": "none",
    "write.target-file-size-bytes": str(128 * 2**20),
}
LAKE_TABLE = """\
kind: lake_table
name: events
source: {{type: kafka, cluster: here, topic: {topic}, format: json, schema: event.avsc}}
table: {{catalog: lake, database: playback, table: events}}
batch: {{max_rows: {rows_per_batch}}}
hygiene: {{quarantine: {{cluster: here, topic: {topic}.quarantine}}}}
"""


def write_lake_table(workspace: Path, rows_per_batch: int) -> list[str]:
    """Write the table's file; returns the command that lands the topic in it."""
    text = LAKE_TABLE.format(topic=RAW_TOPIC, rows_per_batch=rows_per_batch)
    (workspace / "table.yaml").write_text(text, encoding="utf-8")
    return [console_script("lake-writer"), "start", "-c", "table.yaml", "--once"]


def data_files(workspace: Path) -> Iterator[Path]:
    """Return the data files of a workspace's catalog; nothing is ever deleted from one here."""
    return (workspace / ".headrace" / "warehouse").rglob("*.parquet")


def headrace_lake_writer(arena: Arena, folder: Path) -> Run:
    """Prepare `lake-writer start --once`."""
    workspace = arena.new_workspace(folder)
    argv = write_lake_table(workspace, ROWS_PER_BATCH)
    checkpoint = workspace / ".headrace" / "state" / "lake_writer" / "events" / "checkpoint"
    return Run(
        Command(argv, folder),
        check=lambda _: landed(arena, data_files(workspace)),
        work_s=lambda _: checkpoint_work_s([checkpoint]),
        clean_up=lambda: arena.drop_topics(f"{RAW_TOPIC}.quarantine"),
    )


def spark_lake_writer(arena: Arena, folder: Path) -> Run:
    """Prepare the plain PySpark job."""
    workspace = arena.new_workspace(folder)
    checkpoint = folder / "checkpoint"
    settings = {
        "bootstrap_servers": arena.bootstrap_servers,
        "topic": RAW_TOPIC,
        "table": TABLE,
        "properties": PROPERTIES,
        "rows_per_batch": ROWS_PER_BATCH,
        "checkpoint": str(checkpoint),
        "spark": spark_settings(workspace, "spark-lake-writer"),
    }
    return Run(
        peer_command("spark_lake_writer", settings, folder),
        check=lambda _: landed(arena, data_files(workspace)),
        work_s=lambda _: checkpoint_work_s([checkpoint]),
        clean_up=lambda: None,
    )


def arrow_lake(arena: Arena, folder: Path) -> Run:
    """Prepare the limit: no engine, no table, no commit."""
    target = folder / "files"
    target.mkdir()
    settings = {
        "bootstrap_servers": arena.bootstrap_servers,
        "topic": RAW_TOPIC,
        "target": str(target),
        "partitions": PARTITIONS,
    }
    return Run(
        peer_command("arrow_lake", settings, folder),
        check=lambda _: landed(arena, target.glob("*.parquet")),
        work_s=said_work_s,
        clean_up=lambda: None,
    )


LAKE_WRITER = Benchmark(
    name="lake_writer",
    title="one JSON topic into an Iceberg table: nine fields and the metadata struct",
    baseline="plain PySpark",
    limit="librdkafka and Arrow",
    competitors=(
        Competitor("headrace", "lake-writer start --once", "cold", headrace_lake_writer),
        Competitor("plain PySpark", "from_json, toTable", "cold", spark_lake_writer),
        Competitor("librdkafka and Arrow", "JSON to Parquet, a process a core", "cold", arrow_lake),
    ),
    load=lambda arena: arena.loaded.rows,
)
