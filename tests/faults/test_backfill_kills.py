"""Replays that are killed, again and again, and go on: nothing is lost, the order holds."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill.run.request import state_of
from headrace.embedded.process import wait_until
from tests.integration.backfill.in_process import (
    PERIOD,
    offsets_by_partition,
    places,
    rows_in,
    worst_disorder_s,
)
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from backfill.run.state import RunState
    from headrace.config.workspace.workspace import Workspace

BACKFILL = Path(sys.executable).with_name("backfill")
THRESHOLD_S = 1


def many_steps(catalog: Catalog, name: str, count: int) -> str:
    """Make a table whose replay at a second takes a step for ten rows; two partitions, mixed."""
    records = [Stored(n % 2, n // 2, n / 10) for n in range(count)]
    chance = random.Random(7)
    chance.shuffle(records)
    return make_table(catalog, name, [records[: count // 2], records[count // 2 :]], 500)


def few_rows(catalog: Catalog, name: str, count: int) -> str:
    """Make a table with a row a second."""
    return make_table(catalog, name, [[Stored(0, n, n) for n in range(count)]], 50)


class Killed:
    """A replay that is started, killed when it has got some steps further, and started again."""

    def __init__(self, workspace: Workspace, run_id: str, words: list[str], said: Path) -> None:
        self.state: RunState = state_of(workspace, run_id)
        self._said = said
        place = ["--workspace", str(workspace.root), "-o", "json", "--log-format", "json"]
        self._begin = [str(BACKFILL), "replay", *words, "--run-id", run_id, *place]
        self._resume = [str(BACKFILL), "replay", "--resume", "--run-id", run_id, *place]

    def kill(self, steps: Callable[[RunState], int], further: int) -> None:
        """Kill it, with what it has started, some steps further; it may be through before."""
        wanted = steps(self.state) + further
        with self._said.open("ab") as said:
            running = subprocess.Popen(
                self._resume if self.state.exists else self._begin,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
        reached = partial(self._reached, steps, wanted, running)
        assert wait_until(reached, 120), "the replay makes no progress"
        running.kill()
        running.wait()

    def finish(self) -> dict[str, Any]:
        """Let it go to its end; returns the certificate."""
        done = subprocess.run(self._resume, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with self._said.open("a", encoding="utf-8") as said:
            said.write(done.stderr)
        certificate: dict[str, Any] = json.loads(done.stdout)
        return certificate

    def shown(self) -> list[tuple[int, int]]:
        """Return the steps and the rows that were shown as done, over all its lives."""
        found = []
        for line in self._said.read_text(encoding="utf-8").splitlines():
            # A killed process leaves half a line.
            with contextlib.suppress(json.JSONDecodeError):
                told = json.loads(line)
                if told.get("event") == "step delivered":
                    found.append((told["step"], told["rows"]))
        return found

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
    return state.committed()[0]


@pytest.mark.parametrize(
    ("kills", "count"), [(2, 600), pytest.param(50, 3_000, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("order", ["bounded", "strict"])
def test_to_files_every_row_is_there_once_and_the_order_holds_over_all_lives(
    order: str,
    kills: int,
    count: int,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    many = many_steps(lake_catalog, unique("killed"), count)
    few = few_rows(lake_catalog, unique("few"), count // 10)
    words = ["--table", many, "--table", few, "--to", f"jsonl:{tmp_path / 'out'}", *PERIOD]
    words += ["--order", order, "--max-misalignment", f"{THRESHOLD_S}s"]
    run = Killed(workspace, unique("run"), words, tmp_path / "said.jsonl")
    chance = random.Random(kills)
    for _ in range(kills):
        run.kill(of_tables, chance.randrange(1, count // 6 // kills))
    certificate = run.finish()
    rows = rows_in(tmp_path / "out")
    assert (certificate["complete"], certificate["differences"]) == (True, [])
    assert certificate["rows"] == count + count // 10
    assert places(rows) == Counter(
        [(many, n % 2, n // 2) for n in range(count)] + [(few, 0, n) for n in range(count // 10)]
    )
    worst_ms = worst_disorder_s(rows) * 1000
    assert worst_ms <= THRESHOLD_S * 1000
    assert certificate["max_disorder_ms"] == pytest.approx(worst_ms, abs=0.01)
    if order == "strict":
        found = offsets_by_partition([row for row in rows if row["__source__"] == many])
        assert found == {n: list(range(count // 2)) for n in range(2)}
    went_on(run)


def went_on(run: Killed) -> None:
    """Check what was shown: the bar never goes back, and its rows are those of the plan so far."""
    plan = run.state.plan()
    so_far = [0, *itertools.accumulate(step.rows for step in plan.steps)]
    shown = run.shown()
    assert all(before < after for (before, _), (after, _) in itertools.pairwise(shown))
    assert all(rows == so_far[step] for step, rows in shown)
    assert shown[-1] == (len(plan.steps), plan.rows)


@pytest.mark.parametrize(
    ("kills", "count"), [(1, 600), pytest.param(20, 3_000, marks=pytest.mark.long)]
)
def test_to_kafka_every_row_is_there_and_what_is_repeated_is_one_step_a_kill(
    kills: int,
    count: int,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    pipelines, topic = Pipelines(workspace), unique("killed")
    pipelines.make_topic(topic, 2, "consumer")
    table = many_steps(lake_catalog, unique("killed"), count)
    words = ["--table", table, "--to", f"kafka:consumer/{topic}", *PERIOD, "--order", "strict"]
    words += ["--max-misalignment", f"{THRESHOLD_S}s"]
    run = Killed(workspace, unique("run"), words, tmp_path / "said.jsonl")
    chance = random.Random(kills)
    for _ in range(kills):
        run.kill(of_tables, chance.randrange(1, count // 10 // kills))
    certificate = run.finish()
    assert certificate["rows"] == count
    assert certificate["differences"] == []
    went_on(run)
    for partition in range(2):
        offsets = [
            int((record.header("headrace.origin") or b"").split(b"/")[2])
            for record in pipelines.seen(topic)
            if record.partition == partition
        ]
        assert list(dict.fromkeys(offsets)) == list(range(count // 2))
        steps = {
            one.first: one.end_exclusive
            for step in run.state.plan().steps
            for one in step.ranges
            if one.partition == partition
        }
        back = [(was, now) for was, now in itertools.pairwise(offsets) if now <= was]
        assert len(back) <= kills
        # It goes back to the beginning of the step that was cut short, and no further.
        assert all(now <= was < steps[now] for was, now in back)


@pytest.mark.long
@pytest.mark.parametrize("kills", [5])
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
    run = Killed(workspace, unique("run"), words, tmp_path / "said.jsonl")
    for _ in range(kills):
        run.kill(of_application, 1)
    certificate = run.finish()
    assert certificate["complete"] is True
    assert certificate["rows"] == count
    assert certificate["differences"] == []
    rows = spark.read.json(str(tmp_path / "out")).select("id").collect()
    assert Counter(row["id"] for row in rows) == Counter(range(count))
