"""Tables as others write them, and damaged ones: each replays exactly, or is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from headrace.errors import Terminal
from tests.integration.backfill.in_process import PERIOD, Commands, offsets_by_partition, rows_in
from tests.integration.backfill.lake_tables import DAY, Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

METADATA = (
    f"named_struct('kafka_ingestion_ts', timestamp'{DAY.isoformat()}' + make_dt_interval(0,0,0,id),"
    " 'topic', 'events', 'partition', 0, 'offset', id, 'region', string(null)) AS __metadata__"
)


@pytest.fixture
def commands(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Commands:
    """The command, in the shared workspace."""
    return Commands(workspace, capsys)


def spark_table(spark: SparkSession, name: str, properties: str, rows: int = 100) -> str:
    """Make a table as Spark makes it, without any of our properties."""
    table = f"lake.replays.{name}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.replays")
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, __metadata__ STRUCT<kafka_ingestion_ts: TIMESTAMP,"
        " topic: STRING, partition: INT, offset: BIGINT, region: STRING>) USING iceberg"
        f" TBLPROPERTIES ({properties})"
    )
    frame = spark.range(0, rows, numPartitions=2).selectExpr("id", METADATA)
    frame.writeTo(table).append()
    return table


@pytest.mark.parametrize("order", ["bounded", "strict", "any"])
@pytest.mark.parametrize("version", [2, 3])
def test_what_spark_wrote_and_deleted_in_part(
    version: int,
    order: str,
    spark: SparkSession,
    commands: Commands,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    """Position deletes in version 2, deletion vectors in version 3; then another column."""
    properties = f"'format-version'='{version}', 'write.delete.mode'='merge-on-read'"
    table = spark_table(spark, unique("spark"), properties)
    spark.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN more STRING")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN id TO number")
    to = f"jsonl:{tmp_path}/out"
    done = commands.replay(table, to, "--max-misalignment", "7s", "--order", order)
    assert done.code == 0, done.out
    rows = rows_in(tmp_path / "out")
    wanted = [n for n in range(100) if n % 10 != 3]
    assert sorted(row["number"] for row in rows) == wanted
    assert all(row["more"] is None for row in rows)
    if order == "strict":
        assert offsets_by_partition(rows) == {0: wanted}


def test_files_without_bounds_in_the_manifest_are_ordered_by_their_footers(
    spark: SparkSession, commands: Commands, unique: Callable[[str], str], tmp_path: Path
) -> None:
    none = "'write.metadata.metrics.default'='none'"
    table = spark_table(spark, unique("bare"), f"'format-version'='2', {none}")
    done = commands.replay(table, f"jsonl:{tmp_path}/out", "--max-misalignment", "20s")
    assert done.json["max_disorder_ms"] <= 20_000
    assert sorted(row["id"] for row in rows_in(tmp_path / "out")) == list(range(100))


def test_a_file_without_any_bounds_is_refused_by_name(
    commands: Commands, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    table, (path,) = bare_file(lake_catalog, unique("boundless"))
    with pytest.raises(Terminal, match=f"{path.name}.* has no bounds on the ingestion time"):
        commands.replay(table, f"jsonl:{tmp_path}/out")


def bare_file(catalog: Catalog, name: str) -> tuple[str, list[Path]]:
    """Make a table whose file keeps statistics neither in the manifest nor in its footer."""
    table = make_table(catalog, name, [[Stored(0, n, float(n)) for n in range(5)]])
    held = catalog.load_table(("replays", name))
    paths = [Path(task.file.file_path.removeprefix("file://")) for task in held.scan().plan_files()]
    for path in paths:
        whole = pq.read_table(path)
        pq.write_table(whole, path, write_statistics=False)
    return table, paths


def test_a_data_file_that_was_removed_is_named_with_its_snapshot(
    commands: Commands, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("removed")
    files = [[Stored(0, n, n * 60.0)] for n in range(3)]
    table = make_table(lake_catalog, name, files)
    held = lake_catalog.load_table(("replays", name))
    paths = [task.file.file_path for task in held.scan().plan_files()]
    snapshot = held.current_snapshot()
    assert snapshot is not None
    Path(paths[0].removeprefix("file://")).unlink()
    run = ["--run-id", unique("run"), "--max-misalignment", "1s"]
    with pytest.raises(Terminal) as raised:
        commands.replay(table, f"jsonl:{tmp_path}/out", *run)
    assert Path(paths[0]).name in str(raised.value)
    assert str(snapshot.snapshot_id) in str(raised.value)
    assert "restore it" in str(raised.value)


def test_rows_that_are_missing_make_the_certificate_differ(
    commands: Commands, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("short")
    table = make_table(lake_catalog, name, [[Stored(0, n, float(n)) for n in range(5)]])
    (task,) = lake_catalog.load_table(("replays", name)).scan().plan_files()
    path = Path(task.file.file_path.removeprefix("file://"))
    pq.write_table(pq.read_table(path).slice(1), path)
    done = commands.replay(table, f"jsonl:{tmp_path}/out")
    assert done.code == 1
    assert done.json["differences"] == [f"{table} delivered 4 rows, but the plan says 5"]


def test_equality_deletes_are_refused_by_name(
    spark: SparkSession, commands: Commands, unique: Callable[[str], str]
) -> None:
    table = spark_table(spark, unique("equality"), "'format-version'='2'", rows=5)
    add_equality_delete(spark, table)
    with pytest.raises(Terminal, match=f"{table} has equality deletes") as raised:
        commands("plan", "--table", table, *PERIOD)
    assert "rewrite_data_files" in str(raised.value)


def add_equality_delete(spark: SparkSession, table: str) -> None:
    """Commit a file of equality deletes, as Flink and Kafka Connect in upsert mode do."""
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no SQL for it
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - as above
    assert jvm is not None
    assert gateway is not None
    held = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)  # noqa: SLF001 - as above
    columns = gateway.new_array(jvm.int, 1)
    columns[0] = 1
    deletes = (
        jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(held.spec())
        .ofEqualityDeletes(columns)
        .withPath(f"{held.location()}/data/deletes.parquet")
        .withFormat("parquet")
        .withFileSizeInBytes(10)
        .withRecordCount(1)
        .build()
    )
    held.newRowDelta().addDeletes(deletes).commit()
