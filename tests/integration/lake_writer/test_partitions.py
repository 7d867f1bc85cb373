"""A table whose partitions change: new files follow, old ones stay, and every row is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace import contract
from headrace.config.lake_table.partitioning import parse_partition
from headrace.config.load import load_lake_table
from headrace.embedded.process import wait_until
from headrace.iceberg.evolve_table import follow_partitions
from headrace.kafka.sender import KafkaRecord
from headrace.signals import Drain
from lake_writer.audit import audit
from lake_writer.maintenance import Maintenance
from tests.integration.backfill.in_process import Commands, rows_in
from tests.integration.lake_writer.landing_table import NAME, LandingTable, places
from tests.integration.lake_writer.live_writer import live
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

T0_MS = 1_772_323_200_000
HOUR_MS = 3_600_000
BY_DAY = "day(__metadata__.kafka_ingestion_ts)"
BY_HOUR = "hour(__metadata__.kafka_ingestion_ts)"
BY_USER = "bucket(4, id)"
COLUMNS = ["id", "__metadata__.partition", "__metadata__.offset"]


def send(pipelines: Pipelines, name: str, numbers: range) -> None:
    """Send records of two hours."""
    times = ((one, T0_MS + one % 2 * HOUR_MS + one) for one in numbers)
    pipelines.send(name, [KafkaRecord(event(one), b"k", timestamp_ms=at) for one, at in times])


def lake_table(pipelines: Pipelines, name: str, partitions: list[str] | None) -> Path:
    target: dict[str, object] = {"catalog": "lake", "database": "tv", "table": name}
    if partitions is not None:
        target["partition_by"] = partitions
    return pipelines.table(name, name, table=target, batch={"max_rows": 3, "max_interval": "200ms"})


def files(table: Table) -> dict[str, int]:
    """Return the head's files, and the spec of each."""
    return {task.file.file_path: task.file.spec_id for task in table.scan().plan_files()}


def test_files_follow_the_partitions_that_the_table_s_file_names(
    spark: SparkSession,
    pipelines: Pipelines,
    name: str,
    load: Callable[[], Table],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps = [([BY_DAY], 9), ([BY_HOUR, BY_USER], 9), ([], 9), ([BY_USER, BY_HOUR], 3), (None, 3)]
    before: dict[str, int] = {}
    sent = 0
    for partitions, rows in steps:
        send(pipelines, name, range(sent, sent + rows))
        sent += rows
        path = lake_table(pipelines, name, partitions)
        assert pipelines.land(spark, path).rows == rows
        after = files(load())
        # What was there before stays as it was; what is new is of the new partitions alone.
        assert before.items() <= after.items()
        assert {after[one] for one in after.keys() - before.keys()} == {load().spec().spec_id}
        before = after
    assert [one.spec_id for one in load().specs().values()] == [0, 1, 2]
    # Left away, the table keeps what it has; in another order it is the same.
    assert load().spec().spec_id == 1
    everything = [(0, one) for one in range(sent)]
    loaded = load_lake_table(path, pipelines.workspace)

    def assert_whole() -> None:
        assert places(load()) == everything
        table = spark.table(f"lake.tv.{name}")
        by_spark = sorted(tuple(row) for row in table.select(*COLUMNS).collect())
        assert by_spark == [(one, 0, one) for one in range(sent)]
        later = table.where("__metadata__.kafka_ingestion_ts >= TIMESTAMP '2026-03-01T01:00:00Z'")
        assert later.where("id % 2 = 1").count() == later.count() == sent // 2
        assert audit(pipelines.workspace, loaded).ok

    assert_whole()
    spark.catalog.refreshTable(f"lake.tv.{name}")
    done = Maintenance(pipelines.workspace, loaded).run(spark, Drain())
    assert done.hours_compacted == 2
    spark.catalog.refreshTable(f"lake.tv.{name}")
    # Files of older partitions were enough to be compacted, into those of now.
    assert set(files(load()).values()) == {1}
    assert_whole()
    to = tmp_path / "replayed"
    Commands(pipelines.workspace, capsys).replay(f"lake.tv.{name}", f"jsonl:{to}")
    assert sorted(row["id"] for row in rows_in(to)) == list(range(sent))


def test_what_somebody_else_changes_holds_for_the_next_batch_of_a_running_writer(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    path = lake_table(pipelines, name, [BY_DAY])

    def landed(number: int) -> bool:
        return len(load().scan(selected_fields=(contract.OFFSET,)).to_arrow()) == number

    with live(pipelines, spark, path):
        send(pipelines, name, range(2))
        assert wait_until(lambda: landed(2), LIMIT_S)
        spark.sql(f"ALTER TABLE lake.tv.{name} ADD PARTITION FIELD bucket(4, id)")
        send(pipelines, name, range(2, 4))
        assert wait_until(lambda: landed(4), LIMIT_S)
    assert sorted(set(files(load()).values())) == [0, 1]
    # At its next start the file has the say again.
    assert pipelines.land(spark, path).rows == 0
    assert load().spec().spec_id == 0


def test_two_that_change_the_partitions_at_once(tmp_path: Path) -> None:
    table = LandingTable(tmp_path)
    table.make()
    catalog = table.catalog()
    one, other = ([parse_partition(text)] for text in ("bucket(4, id)", "bucket(8, id)"))

    def somebody() -> None:
        follow_partitions(table.load, "lake.tv.events", other)

    catalog.before = somebody
    found = follow_partitions(lambda: catalog.load_table(NAME), "lake.tv.events", one)
    ids = [field.field_id for spec in found.specs().values() for field in spec.fields]
    assert len(ids) == len(set(ids)) == 2
    assert str(found.spec().fields[0].transform) == "bucket[4]"


def test_files_of_a_batch_land_though_the_partitions_changed_in_between(tmp_path: Path) -> None:
    table = LandingTable(tmp_path)
    table.make()
    catalog = table.catalog()
    commits = table.commits(catalog)
    batch, at_first = table.batch({0: range(3)}), table.load().spec().spec_id

    def somebody() -> None:
        follow_partitions(table.load, "lake.tv.events", [parse_partition(BY_USER)])

    catalog.before = somebody
    commits.commit(batch)
    assert table.load().spec().spec_id != at_first
    # They are told of under the spec that they were written by.
    assert set(files(table.load()).values()) == {at_first}
    assert table.places() == [(0, offset) for offset in range(3)]
