"""Ended between any two writes of state, and in the middle of each: what is started again is right.

`headrace rewind` has the same in tests/unit/stream_app/test_rewind.py.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from backfill.apps.publish import publish_run
from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import Period, parse_period
from backfill.run.request import ReplayRequest, state_of
from headrace.config.load import load_app, load_workspace
from headrace.errors import UsageError
from headrace.iceberg.catalog import load_table, open_catalog
from headrace.signals import Drain
from stream_app.live import live_sources, run_live
from tests.faults.ended_at import Ended, ended_at
from tests.integration.app.hybrid_events import PARTITIONS, records
from tests.integration.backfill.in_process import PERIOD, Commands, places, rows_in
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

MINUTE_US = 60_000_000
WORKSPACE = """
clusters: {c: {bootstrap_servers: "127.0.0.1:1"}}
catalogs: {lake: {type: sql, uri: "sqlite:///catalog.db", warehouse: warehouse}}
"""


@dataclass
class OneTable:
    """A table of three steps, replayed to files under ever another name."""

    commands: Commands
    name: str
    table: str
    folder: Path

    def words(self, run_id: str) -> list[str]:
        target = f"jsonl:{self.folder / run_id}"
        words = ["replay", "--table", self.table, "--to", target, *PERIOD, "--run-id", run_id]
        return [*words, "--max-misalignment", "5s", "-o", "json"]

    def go_on(self, run_id: str) -> None:
        """Start it again as a user would; all must be as if it had never ended."""
        begun = state_of(self.commands.workspace, run_id).exists
        resume = ["replay", "--resume", "--run-id", run_id, "-o", "json"]
        done = self.commands(*(resume if begun else self.words(run_id)))
        assert (done.code, done.json["complete"], done.json["differences"]) == (0, True, [])
        out = self.folder / run_id
        assert places(rows_in(out)) == Counter((self.table, 0, n) for n in range(30))
        assert json.loads((out / "certificate.json").read_text())["rows"] == 30
        assert set(load_table(self.commands.workspace, self.table).metadata.refs) == {"main"}


@pytest.fixture
def one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> OneTable:
    # Neither a broker nor Spark is asked for.
    (tmp_path / "headrace.yaml").write_text(WORKSPACE, encoding="utf-8")
    workspace = load_workspace(tmp_path)
    files = [[Stored(0, n, float(n)) for n in range(at, at + 10)] for at in (0, 10, 20)]
    table = make_table(open_catalog(workspace.catalog("lake")), "walked", files)
    return OneTable(Commands(workspace, capsys), "walked", table, tmp_path / "out")


def test_a_replay_of_a_table_goes_on_wherever_it_ended(one_table: OneTable) -> None:
    for number in itertools.count():
        run_id = f"{one_table.name}-{number}"
        with ended_at(number) as moments:
            try:
                one_table.commands(*one_table.words(run_id))
            except Ended:
                pass
            else:
                break
        one_table.go_on(run_id)
    assert {"half run.json", "half plan.jsonl", "after position.json"} <= set(moments)
    assert moments[-1] == "after certificate.json"


@pytest.mark.long
def test_a_replay_of_a_table_that_is_killed_goes_on(one_table: OneTable) -> None:
    place = ["--workspace", str(one_table.commands.workspace.root)]
    for number in itertools.count():
        run_id = f"{one_table.name}-{number}"
        entry = [sys.executable, "-m", "tests.faults.ended_at", str(number), "backfill"]
        command = [*entry, *one_table.words(run_id), *place]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode != -signal.SIGKILL:
            assert ended.returncode == 0, ended.stderr
            break
        one_table.go_on(run_id)
    assert number > 20


class OneApplication:
    """A replay that replaces a period of a table of results, under ever another name."""

    def __init__(self, spark: SparkSession, pipelines: Pipelines, name: str) -> None:
        self.spark, self.pipelines, self.name = spark, pipelines, name
        spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.results")

    def app(self, name: str) -> LoadedApp:
        spark, table = self.spark, f"lake.results.{name}"
        spark.sql(f"CREATE TABLE {table} (id bigint, at timestamp) USING iceberg")
        first = "timestamp'2026-03-01 00:05:00'"
        spark.sql(f"INSERT INTO {table} VALUES (-1, {first}), (-2, {first} + INTERVAL 1 HOUR)")
        lake = {"type": "iceberg", "catalog": "lake"}
        sink = {**lake, "database": "results", "table": name, "mode": "replace"}
        path = self.pipelines.write(
            f"apps/{name}.yaml",
            {
                "kind": "app",
                "name": name,
                "sources": {"events": {**lake, "database": "replays", "table": self.name}},
                "transform": {
                    "sql": "SELECT id, __metadata__.kafka_ingestion_ts AS at FROM events"
                },
                "sink": {**sink, "time_column": "at"},
            },
        )
        return load_app(path, self.pipelines.workspace)

    def ended(self, app: LoadedApp, moment: int | str) -> list[str] | None:
        """Run it and end it there; returns the moments that there were where it came through."""
        with ended_at(moment) as moments:
            try:
                self._replay(app, new=True)
            except Ended:
                for query in self.spark.streams.active:
                    query.stop()
                return None
        return moments

    def go_on(self, app: LoadedApp) -> None:
        """Start it again as a user would; all must be as if it had never ended."""
        workspace, name = self.pipelines.workspace, app.config.name
        state = state_of(workspace, name)
        if not state.certificate.exists():
            self._replay(app, new=not state.exists)
        else:
            with pytest.raises(UsageError, match="has finished") as through:
                self._replay(app, new=False)
            assert f"backfill publish {name}" in through.value.advice
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("headrace.spark.session", lambda *_: nullcontext(self.spark))
                publish_run(workspace, name)
        self.spark.catalog.refreshTable(f"lake.results.{name}")
        rows = self.spark.sql(f"SELECT id FROM lake.results.{name}").collect()
        assert sorted(row["id"] for row in rows) == [-2, *range(20)]
        assert not self.spark.catalog.tableExists(f"lake.results.{name}__{name}")
        refs = load_table(workspace, f"lake.replays.{self.name}").metadata.refs
        assert set(refs) == {"main"}

    def _replay(self, app: LoadedApp, *, new: bool) -> None:
        run = AppRun(app, self.pipelines.workspace, app.config.name)
        period = parse_period("2026-03-01T00:00", "2026-03-01T00:20")
        read = Period(period.start_us, period.end_us_exclusive)
        table = f"lake.replays.{self.name}"
        request = ReplayRequest((table,), read, (), "bounded", 10 * MINUTE_US, emitted=period)
        assert replay_app(run, request if new else None, self.spark, Drain()).complete


@pytest.fixture
def one_application(
    spark: SparkSession, workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]
) -> OneApplication:
    name = unique("walked_app")
    make_table(lake_catalog, name, [[Stored(0, n, n * 60.0) for n in range(30)]])
    return OneApplication(spark, Pipelines(workspace), name)


def test_an_application_goes_on_and_is_published_wherever_it_ended(
    one_application: OneApplication,
) -> None:
    # Before it reads, and when all is done but the publication.
    for number, moment in enumerate(("half reads.json", "after certificate.json")):
        app = one_application.app(f"{one_application.name}_{number}")
        assert one_application.ended(app, moment) is None
        one_application.go_on(app)


@pytest.mark.long
def test_an_application_goes_on_and_is_published_from_every_moment(
    one_application: OneApplication,
) -> None:
    for number in itertools.count():
        app = one_application.app(f"{one_application.name}_{number}")
        if (moments := one_application.ended(app, number)) is not None:
            break
        one_application.go_on(app)
    assert moments is not None
    files = [moment.removeprefix("before ") for moment in moments[::3]]
    assert files[:3] == ["run.json", "plan.jsonl", "reads.json"]
    # It is published, and says so.
    assert files[-2:] == ["certificate.json", "run.json"]


@pytest.mark.long
def test_a_hybrid_source_begins_again_wherever_it_ended(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    pipelines, name = Pipelines(workspace), unique("walked_hybrid")
    pipelines.make_topic(name, PARTITIONS)
    landed = pipelines.table(name, name)
    sent = 0

    def more() -> int:
        """Send ten that land, and ten that do not yet."""
        nonlocal sent
        for _ in range(2):
            pipelines.send(name, records(range(sent, sent + 10)))
            if not sent % 20:
                pipelines.land(spark, landed)
            sent += 10
        return sent

    for number in itertools.count():
        more()
        app = hybrid_app(pipelines, name, f"{name}_{number}")
        live = live_sources(app, {})
        with ended_at(number) as moments:
            try:
                run_live(app, workspace, spark, live, Drain(), once=True)
            except Ended:
                for query in spark.streams.active:
                    query.stop()
            else:
                break
        # What has landed meanwhile belongs to the history, or comes live: once in any case.
        count = more()
        run_live(app, workspace, spark, live, Drain(), once=True)
        folder = workspace.root / "out" / app.config.name
        lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
        seen = Counter(json.loads(line)["id"] for line in lines)
        assert seen == dict.fromkeys(range(count), 1), moments[-1]
    assert {"half plan.jsonl", "half handover.json", "half sources.json"} <= set(moments)


def hybrid_app(pipelines: Pipelines, topic: str, name: str) -> LoadedApp:
    live = {"type": "kafka", "cluster": "fronting", "topics": topic, "format": "json"}
    past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": topic}
    sources = {
        "events": {"type": "hybrid", "past": "past", "live": "live"},
        "live": {**live, "schema": f"schemas/{topic}.avsc"},
        "past": {**past, "max_misalignment_threshold": "1min"},
    }
    app = {"kind": "app", "name": name, "sources": sources}
    app |= {"transform": {"sql": "SELECT id FROM events"}}
    sink = {"type": "jsonl", "path": f"out/{name}"}
    path = pipelines.write(f"apps/{name}.yaml", {**app, "sink": sink})
    return load_app(path, pipelines.workspace)
