"""Maintenance improves a table and takes nothing from its writer, its replays and its readers."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlparse

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from headrace.config.load import load_lake_table
from headrace.errors import HeadraceError
from headrace.iceberg.append import Append, append
from headrace.iceberg.catalog import table_loader
from headrace.iceberg.tables import ensure_table
from headrace.kafka.sender import KafkaRecord
from headrace.landing import commits as protocol
from headrace.schema.avro import parse_avro
from headrace.signals import Drain
from lake_writer.audit import audit
from lake_writer.maintenance import Maintenance
from lake_writer.table_detail import TableDetails
from tests.integration.lake_writer.landing_table import (
    BOUNDED,
    bounds,
    data_file,
    places,
    referenced,
)
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

T0_MS = 1_772_323_200_000
MINUTE_MS = 60_000
MANIFESTS = "rewrite_manifests"
LONG_AGO_S = 1_000_000_000


def test_a_table_after_maintenance(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    name, pipelines = unique("maintained"), Pipelines(workspace)
    pipelines.make_topic(name)
    # Two hours in batches of ten minutes, the later hour first.
    times = [T0_MS + minute * MINUTE_MS for minute in (*range(60, 110), *range(50))]
    pipelines.send(name, [KafkaRecord(event(at), timestamp_ms=at) for at in times])
    path = pipelines.table(name, name, batch={"max_rows": 10})
    pipelines.land(spark, path)
    load = table_loader(workspace, f"lake.tv.{name}")
    first = load().metadata.snapshots[0].snapshot_id
    load().manage_snapshots().create_tag(first, "replay").commit()
    before = places(load())
    orphan, fresh = (Path(urlparse(load().location()).path) / "data" / one for one in ("o", "f"))
    orphan.write_text("nobody's")
    # Everything is old enough to be taken for an orphan, but for one: a commit in flight.
    for file in files(load()):
        os.utime(file, (LONG_AGO_S, LONG_AGO_S))
    fresh.write_text("somebody's in a moment")
    with load().transaction() as transaction:
        transaction.set_properties({"history.expire.max-snapshot-age-ms": "0"})
    loaded = load_lake_table(path, workspace)
    details = TableDetails(workspace, loaded.config)
    planned, known = details.ask().maintenance, ids(load())
    head = load().metadata.current_snapshot_id
    done = Maintenance(workspace, loaded).run(spark, Drain())
    assert (done.hours_compacted, done.files_before, done.files_after) == (2, 10, 2)
    # What the page said before, by the same metadata.
    assert planned is not None
    assert (planned.hours_in_all, planned.small_files) == (2, 10)
    # The compaction took the place of the newest one, too.
    assert planned.expiring == len(known - ids(load()) - {head}) == 8
    after = details.ask()
    assert after.maintenance is not None
    # After the expiry, the rewritten manifests took the place of one more.
    assert (after.maintenance.hours, after.maintenance.expiring) == ([], 1)
    assert [(one.operation, one.by) for one in after.commits][:1] == [("replace", "spark")]
    assert after.files is not None
    assert (after.files.files, after.files.rows) == (2, 100)
    assert done.orphans_removed == 1
    assert not orphan.exists()
    assert fresh.exists()
    assert places(load()) == before
    assert len(load().scan(snapshot_id=first).to_arrow()) == 10
    for task in load().scan().plan_files():
        lines = spark.read.parquet(task.file.file_path).select("__metadata__.kafka_ingestion_ts")
        seen = [row[0] for row in lines.collect()]
        assert seen == sorted(seen)
        assert len({at.replace(minute=0) for at in seen}) == 1
    # The writer goes on as if nothing had been.
    pipelines.send(name, [event(1)])
    assert pipelines.land(spark, path).rows == 1
    assert audit(workspace, loaded).ok


def ids(table: Table) -> set[int]:
    return {one.snapshot_id for one in table.metadata.snapshots}


def test_every_file_of_a_wide_table_has_bounds_before_and_after(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    """Iceberg keeps metrics of the first 100 columns only, unless it is told of others."""
    name, pipelines = unique("wide"), Pipelines(workspace)
    pipelines.make_topic(name)
    columns = [{"name": f"c{n}", "type": ["null", "int"], "default": None} for n in range(300)]
    schema = {"type": "record", "name": "tv.Wide", "fields": columns}
    pipelines.send(name, [KafkaRecord(b'{"c299":1}', timestamp_ms=T0_MS + n) for n in range(50)])
    path = pipelines.table(name, name, schema, batch={"max_rows": 10})
    pipelines.land(spark, path)
    load = table_loader(workspace, f"lake.tv.{name}")
    each = [range(first, first + 10) for first in range(0, 50, 10)]
    assert sorted(map(told, bounds(load()))) == [told_of(offsets) for offsets in each]
    done = Maintenance(workspace, load_lake_table(path, workspace)).run(spark, Drain())
    assert (done.files_before, done.files_after) == (5, 1)
    assert [told(one) for one in bounds(load())] == [told_of(range(50))]


def told(said: dict[str, tuple[int, int]]) -> list[tuple[int, int]]:
    return [said[column] for column in BOUNDED]


def told_of(offsets: range) -> list[tuple[int, int]]:
    first, last = offsets[0], offsets[-1]
    return [((T0_MS + first) * 1000, (T0_MS + last) * 1000), (0, 0), (first, last)]


def test_compacted_files_are_smaller_unless_the_table_names_a_level(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    pipelines = Pipelines(workspace)
    columns = [{"name": "id", "type": "long"}]
    schema = {"type": "record", "name": "tv.Event", "fields": columns}

    def compacted(**properties: str) -> int:
        name = unique("level")
        target = {"catalog": "lake", "database": "tv", "table": name, "properties": properties}
        loaded = load_lake_table(pipelines.table(name, name, schema, table=target), workspace)
        table = ensure_table(workspace, loaded.config.table, parse_avro(schema))
        five = [range(first, first + 4_000) for first in range(0, 20_000, 4_000)]
        found = [data_file(table, name, 0, offsets) for offsets in five]
        append(table, Append(table.metadata.new_snapshot_id(), found, {}, {}))
        assert Maintenance(workspace, loaded).run(spark, Drain()).files_after == 1
        (task,) = table_loader(workspace, f"lake.tv.{name}")().scan().plan_files()
        return task.file.file_size_in_bytes

    assert compacted() < compacted(**{"write.parquet.compression-level": "1"})


@contextlib.contextmanager
def others_first(workspace: Workspace, table: str, times: int) -> Iterator[None]:
    """Let commits to a table come too late, so often: its row in the catalog does not change."""
    name = f"losses_of_{table}"
    with contextlib.closing(sqlite3.connect(workspace.root / ".headrace" / "catalog.db")) as db:
        db.executescript(
            f"CREATE TABLE {name} (n INTEGER); INSERT INTO {name} VALUES ({times});"
            f" CREATE TRIGGER t_{name} BEFORE UPDATE ON iceberg_tables"
            f" WHEN NEW.table_name = '{table}' AND (SELECT n FROM {name}) > 0"
            f" BEGIN UPDATE {name} SET n = n - 1; SELECT RAISE(IGNORE); END"
        )
        try:
            yield
        finally:
            db.executescript(f"DROP TRIGGER t_{name}; DROP TABLE {name}")


@pytest.mark.parametrize(("losses", "manifests", "left"), [(2, 3, ()), (99, 0, (MANIFESTS,))])
def test_manifests_are_rewritten_though_others_were_first(
    spark: SparkSession,
    workspace: Workspace,
    unique: Callable[[str], str],
    losses: int,
    manifests: int,
    left: tuple[str, ...],
) -> None:
    name, pipelines = unique("contended"), Pipelines(workspace)
    properties = {"commit.retry.num-retries": "0", "commit.manifest.min-count-to-merge": "100"}
    target = {"catalog": "lake", "database": "tv", "table": name, "properties": properties}
    schema = {"type": "record", "name": "tv.Event", "fields": [{"name": "id", "type": "long"}]}
    loaded = load_lake_table(pipelines.table(name, name, schema, table=target), workspace)
    ensure_table(workspace, loaded.config.table, parse_avro(schema))
    load = table_loader(workspace, f"lake.tv.{name}")
    for first in range(0, 30, 10):
        table = load()
        found = [data_file(table, name, 0, range(first, first + 10))]
        append(table, Append(table.metadata.new_snapshot_id(), found, {}, {}))
    before = places(load())
    # Nothing but the manifests is to be changed: it is this commit that comes too late.
    with others_first(workspace, name, losses):
        done = Maintenance(workspace, loaded).run(spark, Drain())
    assert (done.manifests_rewritten, done.left) == (manifests, left)
    assert places(load()) == before


def test_what_a_crash_leaves_is_removed_and_nothing_else(
    spark: SparkSession,
    workspace: Workspace,
    unique: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, pipelines = unique("left"), Pipelines(workspace)
    pipelines.make_topic(name)
    path = pipelines.table(name, name)
    load = table_loader(workspace, f"lake.tv.{name}")
    pipelines.send(name, map(event, range(10)))
    pipelines.land(spark, path)
    pipelines.send(name, map(event, range(10, 20)))
    with monkeypatch.context() as patched:
        # It ends with files and manifests written, and no catalog that knows of them.
        patched.setattr(protocol, "ATTEMPTS", 1)
        patched.setattr(SqlCatalog, "commit_table", ends_here)
        with pytest.raises(HeadraceError, match="injected"):
            pipelines.land(spark, path)
    left = set(map(str, files(load()))) - referenced(load())
    assert {Path(one).suffix for one in left} == {".parquet", ".avro"}
    loaded = load_lake_table(path, workspace)
    # Young as they are, they could be a commit's that is under way.
    assert Maintenance(workspace, loaded).run(spark, Drain()).orphans_removed == 0
    for file in files(load()):
        os.utime(file, (LONG_AGO_S, LONG_AGO_S))
    assert Maintenance(workspace, loaded).run(spark, Drain()).orphans_removed == len(left)
    assert set(map(str, files(load()))) == referenced(load())
    assert pipelines.land(spark, path).rows == 10
    assert audit(workspace, loaded).ok


def ends_here(*_: object) -> NoReturn:
    raise OSError("injected")


def files(table: Table) -> list[Path]:
    folder = Path(urlparse(table.location()).path)
    return [path for path in folder.rglob("*") if path.is_file()]
