"""Maintenance improves a table and takes nothing from its writer, its replays and its readers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from headrace.config.load import load_lake_table
from headrace.iceberg.tables import table_loader
from headrace.kafka.sender import Record
from headrace.signals import Drain
from lake_writer.audit import audit
from lake_writer.maintenance import Maintenance
from tests.integration.lake_writer.landing_table import places
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from headrace.config.workspace import Workspace

T0_MS = 1_772_323_200_000
MINUTE_MS = 60_000
LONG_AGO_S = 1_000_000_000


def test_a_table_after_maintenance(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    name, pipelines = unique("maintained"), Pipelines(workspace)
    pipelines.make_topic(name)
    # Two hours in batches of ten minutes, the later hour first.
    times = [T0_MS + minute * MINUTE_MS for minute in (*range(60, 110), *range(50))]
    pipelines.send(name, [Record(event(at), timestamp_ms=at) for at in times])
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
    done = Maintenance(workspace, loaded).run(spark, Drain())
    assert (done.hours_compacted, done.files_before, done.files_after) == (2, 10, 2)
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


def files(table: Table) -> list[Path]:
    folder = Path(urlparse(table.location()).path)
    return [path for path in folder.rglob("*") if path.is_file()]
