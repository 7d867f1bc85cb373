"""Strict order, replays to Kafka, runs that are shown, resumed and cancelled."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from backfill.run.request import state_of
from backfill.streams import Replay
from headrace.errors import Terminal, UsageError
from headrace.locks import AlreadyRunning
from tests.integration.pipelines import Pipelines

from .in_process import PERIOD, Commands, offsets_by_partition, rows_in
from .lake_tables import Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.workspace.workspace import Workspace

PARTITIONS = 3
EACH = 60


def mixed(seed: int, jitter_s: float = 30.0) -> list[list[Stored]]:
    """Make files of any mixture of three partitions, whose clocks jump."""
    chance = random.Random(seed)
    records = [
        Stored(partition, offset, max(0.0, offset * 60 - chance.uniform(0, jitter_s)), "eu")
        for partition in range(PARTITIONS)
        for offset in range(EACH)
    ]
    chance.shuffle(records)
    # One from far ahead, in the middle of its partition.
    records = [
        Stored(0, 20, 80_000.0, "eu") if (one.partition, one.offset) == (0, 20) else one
        for one in records
    ]
    return [records[start : start + 25] for start in range(0, len(records), 25)]


@pytest.fixture
def commands(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Commands:
    """The command, in the shared workspace."""
    return Commands(workspace, capsys)


def test_strict_order_gives_each_partition_by_its_offsets_and_goes_on_so(
    commands: Commands, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    table = make_table(lake_catalog, unique("strict"), mixed(1), 7)
    whole = commands.replay(table, f"jsonl:{tmp_path}/whole", "--order", "strict")
    assert whole.code == 0
    certificate = whole.json
    assert certificate["order"] == "strict"
    assert certificate["offset_order_held"] is True
    assert certificate["steps"] > 3
    assert certificate["sources"][0]["rows_at_least"] == PARTITIONS * EACH
    rows = rows_in(tmp_path / "whole")
    assert offsets_by_partition(rows) == {n: list(range(EACH)) for n in range(PARTITIONS)}
    bounded = commands.replay(table, f"jsonl:{tmp_path}/bounded", "--max-misalignment", "1min")
    assert offsets_by_partition(rows_in(tmp_path / "bounded")) != offsets_by_partition(rows)
    assert bounded.json["offset_order_held"] is None


def test_strict_order_in_spark_and_step_by_step_without_it(
    spark: SparkSession,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    table = make_table(lake_catalog, unique("strict"), mixed(2), 7)
    replay = Replay(
        [table],
        "2026-03-01",
        "2026-03-02",
        max_misalignment="20min",
        order="strict",
        workspace=workspace.root,
    )
    walked = [
        row["__metadata__"]
        for step in replay.steps(columns=["id"])
        for _, batch in step.batches()
        for row in batch.to_pylist()
    ]
    wanted = {n: list(range(EACH)) for n in range(PARTITIONS)}
    assert offsets_by_partition([{"__metadata__": one} for one in walked]) == wanted
    seen: list[tuple[int, int, int]] = []

    def take(batch: DataFrame, _batch_id: int) -> None:
        assert batch.columns == ["id", "__metadata__"]
        chosen = batch.selectExpr(
            "spark_partition_id() AS task",
            "__metadata__.partition AS p",
            "__metadata__.offset AS o",
        )
        seen.extend((row["task"], row["p"], row["o"]) for row in chosen.collect())

    stream = replay.streams(spark, unique("strict"), columns={table: ["id"]})[table]
    query = (
        stream.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .foreachBatch(take)
        .start()
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    found: dict[int, list[int]] = {}
    for _, partition, offset in seen:
        found.setdefault(partition, []).append(offset)
    assert found == wanted


def test_to_kafka_a_record_keeps_its_partition_and_says_where_it_came_from(
    commands: Commands,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
) -> None:
    pipelines, topic, run_id = Pipelines(workspace), unique("again"), unique("run")
    pipelines.make_topic(topic, PARTITIONS, "consumer")
    table = make_table(lake_catalog, unique("to_kafka"), mixed(3))
    to = f"kafka:consumer/{topic}"
    done = commands.replay(table, to, "--order", "strict", "--run-id", run_id)
    assert done.code == 0
    assert done.json["rows"] == PARTITIONS * EACH
    seen = pipelines.seen(topic)
    assert len(seen) == PARTITIONS * EACH
    for partition in range(PARTITIONS):
        inside = [record for record in seen if record.partition == partition]
        origins = [
            (record.header("headrace.origin") or b"").decode().split("/") for record in inside
        ]
        assert [(one[0], int(one[1]), int(one[2])) for one in origins] == [
            ("events", partition, offset) for offset in range(EACH)
        ]
    one = seen[2]
    assert one.key is None
    assert json.loads(one.value or b"") == {"id": 2, "items": [{"sku": "s2"}]}
    assert one.header("headrace.replay") == run_id.encode()
    assert one.header("region") == b"eu"


def test_to_kafka_by_a_key_and_what_does_not_fit_is_said(
    commands: Commands,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
) -> None:
    pipelines, topic = Pipelines(workspace), unique("keyed")
    pipelines.make_topic(topic, 2, "consumer")
    to = f"kafka:consumer/{topic}"
    table = make_table(lake_catalog, unique("to_kafka"), mixed(4))
    with pytest.raises(Terminal, match="has 2 partitions, but there are records of partition 2"):
        commands.replay(table, to)
    with pytest.raises(UsageError, match="--key nobody: there is no such column"):
        commands.replay(table, to, "--key", "nobody")
    before = len(pipelines.seen(topic))
    assert commands.replay(table, to, "--key", "id", "--rate-limit", "auto").code == 0
    keyed = [record for record in pipelines.seen(topic) if record.key is not None]
    assert Counter(record.key for record in keyed) == Counter(
        str(offset).encode() for offset in range(EACH) for _ in range(PARTITIONS)
    )
    partitions = {(record.key, record.partition) for record in keyed}
    assert len(partitions) == EACH
    assert before + len(keyed) == len(pipelines.seen(topic))
    with pytest.raises(Terminal, match="no topic"):
        commands.replay(table, f"kafka:consumer/{topic}_not_there")


def test_a_run_is_shown_refused_resumed_and_cancelled(
    commands: Commands,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    from backfill.plan.period import parse_period
    from backfill.run.pace import Pace
    from backfill.run.request import ReplayRequest, RunOptions
    from backfill.tables.delivery import delivery
    from backfill.tables.jsonl import JsonlFolder
    from headrace.signals import Drain

    name, run_id = unique("shown"), unique("run")
    table = make_table(lake_catalog, name, [[Stored(0, n, n * 3_600.0)] for n in range(6)])
    request = ReplayRequest(
        (table,), parse_period("2026-03-01", "2026-03-02"), (), "bounded", 1_000
    )
    target = JsonlFolder(tmp_path / "out")
    with delivery(workspace, request, RunOptions(run_id, resume=False), target) as going:
        next(going.run(target, Drain(), Pace()))
        (shown,) = commands("status", run_id, "-o", "json").json
        assert shown["stage"] == "running"
        with pytest.raises(AlreadyRunning, match=f"replay {run_id} already runs"):
            commands("replay", "--resume", "--run-id", run_id)
        with pytest.raises(AlreadyRunning):
            commands.replay(table, f"jsonl:{tmp_path}/two", "--run-id", run_id)
        with pytest.raises(AlreadyRunning):
            commands("cancel", run_id)
    text = commands("status").out
    assert f"{run_id}  stopped  1 of 6 steps (16 %)" in text
    assert f"backfill replay --resume --run-id {run_id}" in text
    with pytest.raises(UsageError, match="already exists"):
        commands.replay(table, f"jsonl:{tmp_path}/two", "--run-id", run_id)
    with pytest.raises(UsageError, match="goes to jsonl:"):
        commands("replay", "--resume", "--run-id", run_id, "--to", "jsonl:elsewhere")
    done = commands("replay", "--resume", "--run-id", run_id, "-o", "json")
    assert done.json["complete"] is True
    assert done.json["rows"] == 6
    (shown,) = commands("status", run_id, "-o", "json").json
    assert (shown["stage"], shown["steps_done"]) == ("complete", 6)
    with pytest.raises(UsageError, match="there is no run nobody"):
        commands("status", "nobody")


def test_a_cancelled_run_leaves_neither_tag_nor_files(
    commands: Commands,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    from backfill.plan.period import parse_period
    from backfill.run.pace import Pace
    from backfill.run.request import ReplayRequest, RunOptions
    from backfill.tables.delivery import delivery
    from backfill.tables.jsonl import JsonlFolder
    from headrace.signals import Drain

    name, run_id = unique("cancelled"), unique("run")
    table = make_table(lake_catalog, name, [[Stored(0, n, n * 3_600.0)] for n in range(3)])
    request = ReplayRequest(
        (table,), parse_period("2026-03-01", "2026-03-02"), (), "bounded", 1_000
    )
    target = JsonlFolder(tmp_path / "out")
    (tmp_path / "out" / "mine.txt").write_text("kept")
    with delivery(workspace, request, RunOptions(run_id, resume=False), target) as going:
        next(going.run(target, Drain(), Pace()))
    assert f"headrace-replay-{run_id}" in lake_catalog.load_table(("replays", name)).metadata.refs
    done = commands("cancel", run_id, "--delete-output", "-o", "json")
    assert done.json["tags_removed"] == [table]
    assert set(lake_catalog.load_table(("replays", name)).metadata.refs) == {"main"}
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["mine.txt"]
    assert not state_of(workspace, run_id).folder.exists()
    with pytest.raises(UsageError, match="there is no run"):
        commands("cancel", run_id)


def test_a_period_is_asked_for_and_a_picture_is_drawn(
    commands: Commands, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    table = make_table(lake_catalog, unique("drawn"), mixed(5))
    with pytest.raises(UsageError, match="a replay needs a period"):
        commands("plan", "--table", table)
    picture = tmp_path / "plan.svg"
    done = commands("plan", "--table", table, *PERIOD, "--order", "strict", "--picture", picture)
    assert "each Kafka partition by its offsets" in done.out
    assert picture.read_text().startswith("<svg")
