"""Tables that others write, by a column of times of theirs: every row once, within the bound."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from backfill.streams import Replay
from headrace.errors import Terminal
from tests.integration.pipelines import Pipelines

from .in_process import PERIOD, Commands, rows_in, worst_disorder_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

DAY = datetime(2026, 3, 1, tzinfo=UTC)
THRESHOLD_S = 30
COLUMNS = "id BIGINT, at TIMESTAMP, country STRING"


@pytest.fixture
def commands(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Commands:
    """The command, in the shared workspace."""
    return Commands(workspace, capsys)


def replays_exactly(
    commands: Commands, table: str, folder: Path, wanted: Iterable[int], time_column: str = "at"
) -> None:
    """Replay a table in bounded order, and look at every row and at the certificate."""
    by = ("--time-column", time_column, "--max-misalignment", f"{THRESHOLD_S}s")
    done = commands.replay(table, f"jsonl:{folder}", *by)
    assert done.code == 0, done.out
    rows = rows_in(folder)
    assert Counter(row["id"] for row in rows) == Counter(wanted)
    worst_ms = worst_disorder_s(rows, time_column) * 1000
    assert worst_ms <= THRESHOLD_S * 1000
    certificate = done.json
    assert certificate["max_disorder_ms"] == pytest.approx(worst_ms, abs=0.01)
    assert certificate["time_column"] == time_column
    assert (certificate["complete"], certificate["differences"]) == (True, [])
    assert certificate["steps"] > 3


def test_spark_in_batches_with_rows_deleted_by_position(
    spark: SparkSession, commands: Commands, unique: Callable[[str], str], tmp_path: Path
) -> None:
    table = f"lake.replays.{unique('spark_batch')}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.replays")
    spark.sql(
        f"CREATE TABLE {table} ({COLUMNS}) USING iceberg PARTITIONED BY (country) TBLPROPERTIES"
        " ('format-version'='2', 'write.delete.mode'='merge-on-read',"
        " 'write.update.mode'='merge-on-read')"
    )
    for part in range(3):
        spark.range(part * 100, part * 100 + 100, numPartitions=1).selectExpr(
            "id",
            f"timestamp'{DAY.isoformat()}' + make_dt_interval(0, 0, 0, id) AS at",
            "elt(1 + id % 2, 'de', 'us') AS country",
        ).writeTo(table).append()
    spark.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
    spark.sql(f"UPDATE {table} SET id = id + 1000 WHERE id % 10 = 7")
    kept = [n + 1000 * (n % 10 == 7) for n in range(300) if n % 10 != 3]
    replays_exactly(commands, table, tmp_path / "out", kept)


def test_a_stream_of_spark(
    spark: SparkSession, commands: Commands, unique: Callable[[str], str], tmp_path: Path
) -> None:
    table = f"lake.replays.{unique('spark_stream')}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.replays")
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg")
    (tmp_path / "in").mkdir()
    for part in range(3):
        # Each file has seconds of the whole time: none of the table's files is narrow.
        lines = [
            json.dumps({"id": n, "at": (DAY + timedelta(seconds=n)).isoformat(), "country": "de"})
            for n in range(part, 300, 3)
        ]
        (tmp_path / "in" / f"{part}.json").write_text("\n".join(lines))
    events = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    query = (
        events.json(str(tmp_path / "in"))
        .writeStream.trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .toTable(table)
    )
    assert query.awaitTermination(120)
    replays_exactly(commands, table, tmp_path / "out", range(300))


@pytest.mark.parametrize("zone", ["UTC", None])
def test_pyiceberg(
    zone: str | None,
    commands: Commands,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    name = unique("pyiceberg")
    lake_catalog.create_namespace_if_not_exists("replays")
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", tz=zone))])
    table = lake_catalog.create_table(("replays", name), schema)
    for part in range(4):
        times = [DAY + timedelta(seconds=n) for n in range(part * 80, part * 80 + 80)]
        at = times if zone else [time.replace(tzinfo=None) for time in times]
        ids = list(range(part * 80, part * 80 + 80))
        table.append(pa.table({"id": ids, "at": at}, schema=schema))
    full = f"lake.replays.{name}"
    replays_exactly(commands, full, tmp_path / "out", range(320))
    walk = Replay([full], PERIOD[1], PERIOD[3], time_column="at", workspace=workspace.root)
    columns = [batch.schema.names for step in walk.steps(["id"]) for _, batch in step.batches()]
    assert columns
    assert all(names == ["id", "at"] for names in columns)


def test_a_column_that_is_not_there_is_named_with_those_that_are(
    commands: Commands, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("bare")
    lake_catalog.create_namespace_if_not_exists("replays")
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us"))])
    lake_catalog.create_table(("replays", name), schema).append(
        pa.table({"id": [1], "at": [DAY.replace(tzinfo=None)]}, schema=schema)
    )
    to = f"jsonl:{tmp_path}/out"
    with pytest.raises(Terminal, match=r"has no column __metadata__\.kafka_ingestion_ts") as raised:
        commands.replay(f"lake.replays.{name}", to)
    assert "--time-column: at" in str(raised.value)
    with pytest.raises(Terminal, match=r"id of .* is long, not a time"):
        commands.replay(f"lake.replays.{name}", to, "--time-column", "id")
    by = ("--time-column", "at")
    with pytest.raises(Terminal, match=r"has no column __metadata__\.topic"):
        commands.replay(f"lake.replays.{name}", to, *by, "--order", "strict")
    with pytest.raises(Terminal, match=r"has no column __metadata__\.region"):
        commands.replay(f"lake.replays.{name}", to, *by, "--regions", "eu")


def test_rows_without_a_time_of_which_some_are_deleted(
    spark: SparkSession, commands: Commands, unique: Callable[[str], str], tmp_path: Path
) -> None:
    table = f"lake.replays.{unique('timeless')}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.replays")
    spark.sql(
        f"CREATE TABLE {table} ({COLUMNS}) USING iceberg PARTITIONED BY (day(at)) TBLPROPERTIES"
        " ('format-version'='2', 'write.delete.mode'='merge-on-read')"
    )
    spark.range(0, 100, numPartitions=1).selectExpr(
        "id",
        f"if(id % 10 = 5, null, timestamp'{DAY.isoformat()}' + make_dt_interval(0, 0, 0, id)) AS at",
        "'de' AS country",
    ).writeTo(table).append()
    by = ("--time-column", "at", "--null-times", "skip", "--max-misalignment", "20s")
    before = commands.replay(table, f"jsonl:{tmp_path}/before", *by)
    assert (before.code, before.json["rows"], before.json["null_times"]) == (0, 90, 10)
    spark.sql(f"DELETE FROM {table} WHERE id IN (5, 6, 15)")
    after = commands.replay(table, f"jsonl:{tmp_path}/after", *by)
    assert (after.code, after.json["rows"], after.json["null_times"]) == (0, 89, 8)
    assert after.json["differences"] == []


def test_into_a_topic_goes_only_what_says_where_it_came_from(
    commands: Commands, lake_catalog: Catalog, unique: Callable[[str], str]
) -> None:
    topic, name = unique("origins"), unique("origins")
    Pipelines(commands.workspace).make_topic(topic, 1, "consumer")
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us"))])
    lake_catalog.create_namespace_if_not_exists("replays")
    lake_catalog.create_table(("replays", name), schema).append(
        pa.table({"id": [1], "at": [DAY.replace(tzinfo=None)]}, schema=schema)
    )
    to = f"kafka:consumer/{topic}"
    with pytest.raises(Terminal, match=r"no __metadata__\.kafka_ingestion_ts, .* does not have it"):
        commands.replay(f"lake.replays.{name}", to, "--time-column", "at")
