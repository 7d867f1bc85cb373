"""Real tables, replayed: the bound, completeness, resumption, on what lies in the files."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.embedded.process import wait_until

from .in_process import PERIOD, places, rows_in, worst_disorder_s
from .lake_tables import DAY, Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

BACKFILL = Path(sys.executable).with_name("backfill")


def replay(workspace: Workspace, tables: Iterable[str], to: Path, *more: str) -> dict[str, Any]:
    """Run the command to its end; return its certificate."""
    done = subprocess.run(
        command(workspace, tables, to, *more), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    certificate: dict[str, Any] = json.loads(done.stdout)
    return certificate


def command(workspace: Workspace, tables: Iterable[str], to: Path, *more: str) -> list[str]:
    named = [word for table in tables for word in ("--table", table)]
    place = ["--workspace", str(workspace.root), "--to", f"jsonl:{to}", "-o", "json"]
    return [str(BACKFILL), "replay", *named, *PERIOD, *place, *more]


def layout(seed: int) -> list[list[Stored]]:
    """Make files that overlap, some narrow, some over hours, one record each, equal times."""
    chance = random.Random(seed)
    offsets = Counter[int]()
    files = []
    for _ in range(12):
        start, width = chance.uniform(0, 20_000), chance.choice([0.0, 1.0, 60.0, 15_000.0])
        file = []
        for _ in range(chance.choice([1, 7, 60])):
            partition = chance.randrange(3)
            second = round(start + chance.random() * width, 6)
            file.append(Stored(partition, offsets[partition], second))
            offsets[partition] += 1
        files.append(file)
    return files


@pytest.mark.parametrize(("seed", "threshold"), [(1, "1s"), (2, "90s"), (3, "10min"), (4, "1d")])
def test_the_bound_holds_and_every_record_comes_once(
    seed: int,
    threshold: str,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    layouts = [layout(seed), layout(seed + 100)]
    tables = [make_table(lake_catalog, unique("bound"), files, 16) for files in layouts]
    certificate = replay(workspace, tables, tmp_path / "out", "--max-misalignment", threshold)
    rows = rows_in(tmp_path / "out")
    wanted = Counter(
        (table, record.partition, record.offset)
        for table, files in zip(tables, layouts, strict=True)
        for file in files
        for record in file
    )
    assert places(rows) == wanted
    worst = worst_disorder_s(rows)
    assert worst * 1000 <= certificate["threshold_ms"]
    assert certificate["max_disorder_ms"] == pytest.approx(worst * 1000, abs=0.01)
    assert certificate["rows"] == sum(wanted.values())
    assert certificate["complete"] is True
    assert certificate["bound_held"] is True


def test_a_missing_list_of_records_stays_missing(
    spark: SparkSession,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    table = make_table(lake_catalog, unique("lists"), [])
    metadata = f"named_struct('kafka_ingestion_ts', timestamp'{DAY.isoformat()}',"
    metadata += " 'topic', 'events', 'partition', 0, 'offset', 0L, 'region', string(null))"
    spark.sql(
        f"INSERT INTO {table} VALUES (0L, array(named_struct('sku', 's0')), {metadata}),"
        f" (1L, null, {metadata}), (2L, array(), {metadata})"
    )
    replay(workspace, [table], tmp_path / "out")
    items = {row["id"]: row["items"] for row in rows_in(tmp_path / "out")}
    assert items == {0: [{"sku": "s0"}], 1: None, 2: []}


def test_the_period_is_half_open_to_the_microsecond_and_regions_are_chosen(
    workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    day = 86_400.0
    files = [
        [
            Stored(0, 0, -0.000001, "eu"),
            Stored(0, 1, 0.0, "eu"),
            Stored(0, 2, 5.0, "us"),
            Stored(0, 3, 6.0, None),
            Stored(0, 4, day - 0.000001, "eu"),
            Stored(0, 5, day, "eu"),
        ]
    ]
    table = make_table(lake_catalog, unique("edges"), files)
    replay(workspace, [table], tmp_path / "all")
    assert sorted(offset for _, _, offset in places(rows_in(tmp_path / "all"))) == [1, 2, 3, 4]
    replay(workspace, [table], tmp_path / "eu", "--regions", "eu")
    assert sorted(offset for _, _, offset in places(rows_in(tmp_path / "eu"))) == [1, 4]


def test_rows_that_were_deleted_by_position_do_not_come_back(
    spark: SparkSession,
    workspace: Workspace,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    table = f"lake.replays.{unique('deleted')}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.replays")
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, __metadata__ STRUCT<kafka_ingestion_ts: TIMESTAMP,"
        " topic: STRING, partition: INT, offset: BIGINT, region: STRING>) USING iceberg"
        " TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read')"
    )
    spark.range(0, 100, numPartitions=1).selectExpr(
        "id",
        f"named_struct('kafka_ingestion_ts', timestamp'{DAY.isoformat()}' + make_dt_interval(0,0,0,id),"
        " 'topic', 'events', 'partition', 0, 'offset', id, 'region', string(null)) AS __metadata__",
    ).writeTo(table).append()
    spark.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
    certificate = replay(workspace, [table], tmp_path / "out", "--max-misalignment", "7s")
    rows = rows_in(tmp_path / "out")
    assert sorted(row["id"] for row in rows) == [n for n in range(100) if n % 10 != 3]
    assert worst_disorder_s(rows) <= 7
    assert certificate["steps"] > 5


def test_a_replay_survives_an_expiry_of_its_snapshot(
    spark: SparkSession,
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

    name = unique("expired")
    files = [[Stored(0, n, float(n))] for n in range(6)]
    table = make_table(lake_catalog, name, files)
    request = ReplayRequest(
        (table,), parse_period("2026-03-01", "2026-03-02"), (), "bounded", 500_000
    )
    drain = Drain()
    target = JsonlFolder(tmp_path / "out")
    with delivery(workspace, request, RunOptions("run", resume=False), target) as going:
        steps = going.run(target, drain, Pace())
        next(steps)
        lake_catalog.load_table(("replays", name)).overwrite(
            lake_catalog.load_table(("replays", name)).scan(limit=1).to_arrow()
        )
        spark.sql(f"REFRESH TABLE {table}")
        spark.sql(
            f"CALL lake.system.expire_snapshots(table => 'replays.{name}',"
            " older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
        )
        assert len(list(steps)) == 5
        assert going.certificate().complete
    assert len(rows_in(tmp_path / "out")) == 6
    assert set(lake_catalog.load_table(("replays", name)).metadata.refs) == {"main"}


def many_steps(catalog: Catalog, name: str) -> tuple[str, int]:
    """Make a table whose replay at 100 ms takes a few hundred steps."""
    file = [Stored(0, n, n / 10) for n in range(3_000)]
    return make_table(catalog, name, [file], 100), len(file)


def has_reached(position: Path, wanted: int, running: subprocess.Popen[bytes]) -> bool:
    return steps_done(position) >= wanted or running.poll() is not None


def steps_done(position: Path) -> int:
    try:
        return int(json.loads(position.read_text())["steps_done"])
    except FileNotFoundError:
        return 0


def test_ctrl_c_ends_after_a_step_and_says_how_to_go_on(
    workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    table, count = many_steps(lake_catalog, unique("drained"))
    out = tmp_path / "out"
    run_id = unique("drained-run")
    words = command(workspace, [table], out, "--max-misalignment", "1s", "--run-id", run_id)
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert wait_until((out / "step-000003.jsonl").exists, 60)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate()
    assert running.returncode == 0
    assert json.loads(stdout)["complete"] is False
    assert f"--resume --run-id {run_id}" in stderr
    resumed = replay(workspace, [table], out, "--run-id", run_id, "--resume")
    assert resumed["complete"] is True
    assert resumed["rows"] == count == len(rows_in(out))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--resume"], "--resume needs the id of the run"),
        (["--resume", "--run-id", "nobody"], "there is no run nobody"),
        (["--max-misalignment", "5 minuts"], 'unknown unit "minuts"'),
        (["--table", "lake.replays.nothing"], "there is no table lake.replays.nothing"),
        (["--start-ts", "2027-01-01"], "is empty"),
        (["--to", "kafka"], "is not a valid target"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    more: list[str],
    sentence: str,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    table = make_table(lake_catalog, unique("said"), [[Stored(0, 0, 1.0)]])
    words = command(workspace, [table], tmp_path / "out", *more)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode in {1, 2}
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert sentence in json.loads(done.stdout)["error"]["message"]


def test_plan_shows_what_cutting_costs(
    workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]
) -> None:
    table, count = many_steps(lake_catalog, unique("planned"))
    words = [str(BACKFILL), "plan", "--table", table, *PERIOD, "--workspace", str(workspace.root)]
    as_json = subprocess.run(
        [*words, "-o", "json", "--max-misalignment", "20s"],
        capture_output=True,
        text=True,
        check=True,
    )
    plan = json.loads(as_json.stdout)
    assert plan["rows"] == count
    assert plan["smallest_free_threshold_ms"] == 9_900
    (source,) = plan["sources"]
    assert source["files"] == source["files_cut"] == 1
    assert source["bytes_read_again"] == 0
    narrow = subprocess.run(
        [*words, "--max-misalignment", "1s"], capture_output=True, text=True, check=True
    )
    assert "KiB read again" in narrow.stdout
    assert "█" in narrow.stdout
