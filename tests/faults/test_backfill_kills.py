"""Replays that are killed, again and again, and go on: nothing is lost, the order holds."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill.query_log import committed
from backfill.request import state_of
from headrace.embedded.process import wait_until
from tests.integration.backfill.in_process import PERIOD, offsets_by_partition, rows_in
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from backfill.state import RunState
    from headrace.config.workspace import Workspace

BACKFILL = Path(sys.executable).with_name("backfill")
ROWS = 3_000


def many_steps(catalog: Catalog, name: str) -> str:
    """Make a table whose replay at a second takes hundreds of steps; two partitions, mixed."""
    records = [Stored(n % 2, n // 2, n / 10) for n in range(ROWS)]
    chance = random.Random(7)
    chance.shuffle(records)
    return make_table(catalog, name, [records[: ROWS // 2], records[ROWS // 2 :]], 500)


class Killed:
    """A replay that is started, killed when it has got some steps further, and started again."""

    def __init__(self, workspace: Workspace, run_id: str, words: list[str]) -> None:
        self.state: RunState = state_of(workspace, run_id)
        place = ["--workspace", str(workspace.root), "-o", "json"]
        self._begin = [str(BACKFILL), "replay", *words, "--run-id", run_id, *place]
        self._resume = [str(BACKFILL), "replay", "--resume", "--run-id", run_id, *place]

    def kill(self, steps: Callable[[RunState], int], further: int) -> None:
        """Kill it, with what it has started, some steps further; it may be through before."""
        wanted = steps(self.state) + further
        running = subprocess.Popen(
            self._resume if self.state.exists else self._begin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        reached = partial(self._reached, steps, wanted, running)
        assert wait_until(reached, 120), "the replay makes no progress"
        running.kill()
        running.wait()

    def finish(self) -> dict[str, Any]:
        """Let it go to its end; returns the certificate."""
        done = subprocess.run(self._resume, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        certificate: dict[str, Any] = json.loads(done.stdout)
        return certificate

    def _reached(
        self,
        steps: Callable[[RunState], int],
        wanted: int,
        running: subprocess.Popen[bytes],
    ) -> bool:
        return steps(self.state) >= wanted or running.poll() is not None


def of_tables(state: RunState) -> int:
    return state.position().steps_done


def of_application(state: RunState) -> int:
    return committed(state.folder / "checkpoint").steps


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.long)])
@pytest.mark.parametrize("order", ["bounded", "strict"])
def test_to_files_every_row_is_there_once(
    order: str,
    kills: int,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    table = many_steps(lake_catalog, unique("killed"))
    words = ["--table", table, "--to", f"jsonl:{tmp_path}", *PERIOD, "--order", order]
    run = Killed(workspace, unique("run"), [*words, "--max-misalignment", "1s"])
    chance = random.Random(kills)
    for _ in range(kills):
        run.kill(of_tables, chance.randrange(1, 600 // kills))
    certificate = run.finish()
    rows = rows_in(tmp_path)
    assert certificate["complete"] is True
    assert certificate["differences"] == []
    assert certificate["rows"] == ROWS
    found = offsets_by_partition(rows)
    assert {n: Counter(offsets) for n, offsets in found.items()} == {
        n: Counter(range(ROWS // 2)) for n in range(2)
    }
    if order == "strict":
        assert found == {n: list(range(ROWS // 2)) for n in range(2)}


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.long)])
def test_to_kafka_every_row_is_there_and_what_is_repeated_is_a_step(
    kills: int, workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]
) -> None:
    pipelines, topic = Pipelines(workspace), unique("killed")
    pipelines.make_topic(topic, 2, "consumer")
    table = many_steps(lake_catalog, unique("killed"))
    words = ["--table", table, "--to", f"kafka:consumer/{topic}", *PERIOD, "--order", "strict"]
    run = Killed(workspace, unique("run"), [*words, "--max-misalignment", "1s"])
    chance = random.Random(kills)
    for _ in range(kills):
        run.kill(of_tables, chance.randrange(1, 200 // kills))
    certificate = run.finish()
    assert certificate["rows"] == ROWS
    assert certificate["differences"] == []
    for partition in range(2):
        offsets = [
            int((record.header("headrace.origin") or b"").split(b"/")[2])
            for record in pipelines.seen(topic)
            if record.partition == partition
        ]
        assert list(dict.fromkeys(offsets)) == list(range(ROWS // 2))


@pytest.mark.long
@pytest.mark.parametrize("kills", [3])
def test_an_application_goes_on_by_its_run_id_alone(
    kills: int,
    spark: SparkSession,
    workspace: Workspace,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    name, count = unique("app"), 400
    pipelines = Pipelines(workspace)
    pipelines.make_topic(name)
    pipelines.write("schemas/event.avsc", EVENT_SCHEMA)
    table = pipelines.table(name, name)
    for part in range(8):
        pipelines.send(name, [event(part * 50 + number) for number in range(50)])
        pipelines.land(spark, table)
    past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": name}
    path = pipelines.write(
        f"apps/{name}.yaml",
        {
            "kind": "app",
            "name": name,
            "sources": {"events": {**past, "max_misalignment_threshold": "1ms"}},
            "transform": {"sql": "SELECT id, kind, __metadata__ FROM events"},
            "sink": {"type": "jsonl", "path": str(tmp_path / "out")},
        },
    )
    words = ["-c", str(path), "--start-ts", "2020-01-01", "--end-ts", "2100-01-01"]
    run = Killed(workspace, unique("run"), words)
    for _ in range(kills):
        run.kill(of_application, 1)
    certificate = run.finish()
    assert certificate["complete"] is True
    assert certificate["rows"] == count
    assert certificate["differences"] == []
    rows = spark.read.json(str(tmp_path / "out")).select("id").collect()
    assert Counter(row["id"] for row in rows) == Counter(range(count))
