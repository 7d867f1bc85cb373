"""The lake writer: one topic of JSON landed in an Iceberg table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.arena import PARTITIONS, RAW_TOPIC, console_script, use_master
from benchmarks.checks import landed
from benchmarks.iceberg_connect import iceberg_connect, warm_iceberg_connect
from benchmarks.lake import PROPERTIES
from benchmarks.measure import Command
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.peer import checkpoint_work_s, peer_command, said_work_s, spark_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.arena import Arena

TABLE = "lake.playback.events"
ROWS_PER_BATCH = 1_000_000
# Two batches: the first is what makes a query warm. Connect, whose table is committed every five
# seconds, has nothing to show with fewer either.
LEAST_WARM_ROWS = 2 * ROWS_PER_BATCH
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
    return _headrace(arena, folder, warm=False)


def warm_lake_writer(arena: Arena, folder: Path) -> Run:
    """Prepare the same, measured from its second batch on."""
    return _headrace(arena, folder, warm=True)


def landed_by(master: str, arena: Arena, folder: Path) -> Run:
    """Prepare the same on a cluster."""
    run = _headrace(arena, folder, warm=False)
    use_master(folder, master)
    return run


def _headrace(arena: Arena, folder: Path, *, warm: bool) -> Run:
    workspace = arena.new_workspace(folder)
    argv = write_lake_table(workspace, ROWS_PER_BATCH)
    checkpoint = workspace / ".headrace" / "state" / "lake_writer" / "events" / "checkpoint"
    return Run(
        Command(argv, folder, warm=_first_batch(checkpoint) if warm else None),
        check=lambda _: landed(arena, data_files(workspace)),
        work_s=lambda _: None if warm else checkpoint_work_s([checkpoint]),
        clean_up=lambda: arena.drop_topics(f"{RAW_TOPIC}.quarantine"),
        warm_rows=ROWS_PER_BATCH if warm else 0,
    )


def _first_batch(checkpoint: Path) -> tuple[Path, int]:
    """Return what says that a query has committed its first batch."""
    return checkpoint / "commits" / "0", 1


def spark_lake_writer(arena: Arena, folder: Path) -> Run:
    """Prepare the plain PySpark job."""
    return _spark(arena, folder, warm=False)


def warm_spark_lake_writer(arena: Arena, folder: Path) -> Run:
    """Prepare the same, measured from its second batch on."""
    return _spark(arena, folder, warm=True)


def _spark(arena: Arena, folder: Path, *, warm: bool) -> Run:
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
    command = peer_command("spark_lake_writer", settings, folder)
    return Run(
        replace(command, warm=_first_batch(checkpoint)) if warm else command,
        check=lambda _: landed(arena, data_files(workspace)),
        work_s=lambda _: None if warm else checkpoint_work_s([checkpoint]),
        clean_up=lambda: None,
        warm_rows=ROWS_PER_BATCH if warm else 0,
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
        Competitor(
            "headrace",
            "lake-writer start --once",
            "cold",
            headrace_lake_writer,
            is_our_command=True,
        ),
        Competitor(
            "headrace warm",
            "the same, from its second batch on",
            "warm",
            warm_lake_writer,
            LEAST_WARM_ROWS,
            is_our_command=True,
        ),
        Competitor("plain PySpark", "from_json, toTable", "cold", spark_lake_writer),
        Competitor(
            "plain PySpark warm",
            "the same, from its second batch on",
            "warm",
            warm_spark_lake_writer,
            LEAST_WARM_ROWS,
        ),
        Competitor(
            "Kafka Connect",
            "Iceberg's sink connector, from the start of its worker",
            "cold",
            iceberg_connect,
            LEAST_WARM_ROWS,
        ),
        Competitor(
            "Kafka Connect warm",
            "the same in a worker that has landed a million events in another table before",
            "warm",
            lambda arena, folder: warm_iceberg_connect(arena, folder, ROWS_PER_BATCH),
            LEAST_WARM_ROWS,
        ),
        Competitor("librdkafka and Arrow", "JSON to Parquet, a process a core", "cold", arrow_lake),
    ),
    load=lambda arena: arena.loaded.rows,
    pairs=(("headrace", "Kafka Connect"), ("headrace warm", "Kafka Connect warm")),
)
