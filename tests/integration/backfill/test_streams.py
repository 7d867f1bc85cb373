"""The replay from a program: Spark streams that go step by step, and a walk without Spark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from backfill.streams import Replay
from headrace.embedded.process import wait_until

from .lake_tables import Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.workspace.workspace import Workspace


def spread(count: int, every_s: float) -> list[list[Stored]]:
    """Make files of overlapping times, six records each."""
    records = [Stored(0, n, n * every_s) for n in range(count)]
    return [records[n :: count // 6] for n in range(count // 6)]


def test_two_streams_advance_together_and_a_restart_goes_on_where_it_was(
    spark: SparkSession,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    many = make_table(lake_catalog, unique("many"), spread(120, 1.0))
    few = make_table(lake_catalog, unique("few"), spread(12, 10.0))
    replay = Replay(
        [many, few], "2026-03-01", "2026-03-02", max_misalignment="20s", workspace=workspace.root
    )
    seen: list[tuple[int, str, int, float]] = []
    stop_after = 3

    def take(batch: DataFrame, batch_id: int) -> None:
        times = "unix_micros(__metadata__.kafka_ingestion_ts) / 1e6 AS s"
        rows = batch.selectExpr("source", "id", times).collect()
        seen.extend((batch_id, row["source"], row["id"], row["s"]) for row in rows)

    def run(until: Callable[[], bool]) -> None:
        streams = replay.streams(spark, unique_run)
        both = [
            stream.selectExpr(f"'{name}' AS source", "id", "__metadata__")
            for name, stream in streams.items()
        ]
        query = (
            both[0]
            .unionAll(both[1])
            .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .foreachBatch(take)
            .start()
        )
        try:
            assert wait_until(lambda: until() or not query.isActive, 120)
            assert query.exception() is None
        finally:
            query.stop()

    unique_run = unique("streams")
    total = 132
    run(lambda: len({batch for batch, *_ in seen}) >= stop_after)
    assert held(lake_catalog, many) == held(lake_catalog, few) == [f"headrace-replay-{unique_run}"]
    first_part = len(set(seen))
    # A query that is through lets go of the snapshots by itself.
    run(lambda: held(lake_catalog, many) == held(lake_catalog, few) == [])
    assert len({(source, id_) for _, source, id_, _ in seen}) == total
    assert first_part > 0
    assert Counter((source, id_) for _, source, id_, _ in set(seen)) == Counter(
        [(many, n) for n in range(120)] + [(few, n) for n in range(12)]
    )
    newest_before = newest = 0.0
    step = -1
    for batch_id, _, _, second in sorted(set(seen)):
        if batch_id != step:
            step, newest_before = batch_id, newest
        assert newest_before - second <= 20
        newest = max(newest, second)
    assert step + 1 == len(replay.plan.steps)


def held(catalog: Catalog, table: str) -> list[str]:
    """Return the tags of a table."""
    refs = catalog.load_table(tuple(table.split(".")[1:])).metadata.refs
    return [name for name in refs if name != "main"]


def test_a_walk_without_spark_gives_the_same_records_in_the_same_steps(
    workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]
) -> None:
    table = make_table(lake_catalog, unique("walk"), spread(60, 1.0))
    replay = Replay(
        [table], "2026-03-01", "2026-03-02", max_misalignment="10s", workspace=workspace.root
    )
    walked: list[list[int]] = []
    for step in replay.steps():
        assert len(held(lake_catalog, table)) == 1
        found = (value for _, batch in step.batches() for value in batch.column("id").to_pylist())
        walked.append(sorted(found))
    assert held(lake_catalog, table) == []
    assert sorted(n for step in walked for n in step) == list(range(60))
    assert len(walked) == len(replay.plan.steps) > 3
    newest_before = -1
    for numbers in walked:
        assert newest_before - min(numbers) <= 10
        newest_before = max(newest_before, *numbers)
