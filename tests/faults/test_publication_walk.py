"""`backfill publish` and `backfill sweep`, ended between any two writes: files of state and commits."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import Period, parse_period
from backfill.run import tags
from backfill.run.request import ReplayRequest, state_of
from headrace.config.load import load_app
from headrace.errors import UsageError
from headrace.iceberg.catalog import catalog_properties, load_table, sqlite_file
from headrace.signals import Drain
from tests.faults.last_write import Writes, ends_after
from tests.integration.backfill.in_process import Commands
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from backfill.run.state import RunRecord
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

MINUTE_US = 60_000_000
START, END = "2026-03-01T00:10", "2026-03-01T00:20"
PERIOD = parse_period(START, END)
# What the table of results has: of each row its number, and the minute that it belongs to.
HELD = ((1005, 5), (1015, 15), (12, 45))
STAGED = Counter((number, number) for number in range(10, 20))
OUTSIDE, INSIDE, KEYED = (Counter([row]) for row in HELD)
RIGHT = {
    "append": STAGED + OUTSIDE + INSIDE + KEYED,
    "upsert": STAGED + OUTSIDE + INSIDE,
    "replace": STAGED + OUTSIDE + KEYED,
}


class Results:
    """An application of an event a minute, and tables of results of its own."""

    def __init__(
        self,
        spark: SparkSession,
        workspace: Workspace,
        lake: Catalog,
        commands: Commands,
        name: str,
    ) -> None:
        self.spark, self.workspace, self.lake, self.commands = spark, workspace, lake, commands
        self.name, self.source = name, f"lake.replays.{name}"
        spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.results")

    @property
    def catalog_file(self) -> Path:
        file = sqlite_file(catalog_properties(self.workspace.catalog("lake")))
        assert file is not None
        return file

    def app(self, mode: str = "append") -> LoadedApp:
        lake = {"type": "iceberg", "catalog": "lake"}
        sink = {
            **lake,
            "database": "results",
            "table": self.name,
            "mode": mode,
            "time_column": "at",
        }
        query = "SELECT id, __metadata__.kafka_ingestion_ts AS at FROM events"
        app = {
            "kind": "app",
            "name": self.name,
            "sources": {"events": {**lake, "database": "replays", "table": self.name}},
            "transform": {"sql": query},
            "sink": sink,
        }
        self.spark.sql(
            f"CREATE TABLE lake.results.{self.name} (id bigint, at timestamp) USING iceberg"
        )
        rows = ", ".join(f"({n}, timestamp'2026-03-01 00:{minute}:00')" for n, minute in HELD)
        self.spark.sql(f"INSERT INTO lake.results.{self.name} VALUES {rows}")
        return load_app(
            Pipelines(self.workspace).write(f"apps/{self.name}.yaml", app), self.workspace
        )

    def stage(self, app: LoadedApp, run_id: str) -> None:
        read = Period(PERIOD.start_us - 5 * MINUTE_US, PERIOD.end_us_exclusive + 5 * MINUTE_US)
        request = ReplayRequest(
            (self.source,), read, (), "bounded", 10 * MINUTE_US, emitted=PERIOD, stage=True
        )
        assert replay_app(
            AppRun(app, self.workspace, run_id), request, self.spark, Drain()
        ).complete

    def record(self, run_id: str) -> RunRecord:
        record = state_of(self.workspace, run_id).record()
        assert record is not None
        return record

    def rows(self, table: str) -> Counter[tuple[int, int]]:
        rows = load_table(self.workspace, table).scan().to_arrow().to_pylist()
        return Counter((row["id"], row["at"].minute) for row in rows)

    def refs(self, table: str) -> set[str]:
        return set(load_table(self.workspace, table).metadata.refs)

    def refer(self, table: str, ref: str, *, branch: bool = False) -> None:
        held = load_table(self.workspace, table)
        snapshot = held.current_snapshot()
        assert snapshot is not None
        change = held.manage_snapshots()
        make = change.create_branch if branch else change.create_tag
        make(snapshot.snapshot_id, ref).commit()

    def copied(self, table: str, name: str) -> str:
        old = load_table(self.workspace, table)
        new = self.lake.create_table(("results", name), old.schema(), properties=old.properties)
        new.append(old.scan().to_arrow())
        return f"lake.results.{name}"


@pytest.fixture
def results(
    spark: SparkSession,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Results:
    name = unique("walked_results")
    make_table(lake_catalog, name, [[Stored(0, n, n * 60.0) for n in range(30)]])
    monkeypatch.setattr("headrace.spark.session", lambda *_: nullcontext(spark))
    return Results(spark, workspace, lake_catalog, Commands(workspace, capsys), name)


class Publication:
    """One replay that is published again and again: each time as a run of its own."""

    def __init__(self, results: Results) -> None:
        self.results, self.numbers = results, itertools.count()
        self.app = results.app()
        results.stage(self.app, results.name)

    def staged(self, mode: str) -> str:
        """Return a run that has staged its result, with a target of its own."""
        run_id = f"{self.results.name}_{mode}_{next(self.numbers)}"
        self.results.copied(f"lake.results.{self.results.name}", run_id)
        return self.begun(mode, run_id)

    def begun(self, mode: str, run_id: str) -> str:
        """Begin a run up to where its replay is killed, when all is done but releasing its tag."""
        results = self.results
        old = results.record(results.name)
        assert old.sink is not None
        assert old.staged is not None
        staged = results.copied(old.staged, f"{run_id}__staged")
        key = ("id",) if mode == "upsert" else ()
        sink = {**old.sink, "table": run_id, "mode": mode, "key": key}
        state = state_of(results.workspace, run_id)
        shutil.copytree(state_of(results.workspace, results.name).folder, state.folder)
        to = f"iceberg:lake.results.{run_id}"
        state.store_record(replace(old, staged=staged, sink=sink, to=to))
        results.refer(results.source, tags.PREFIX + run_id)
        return run_id

    def ended(self, number: int, *words: str) -> Writes:
        with ends_after(number, self.results.catalog_file) as writes:
            self.results.commands(*words)
        return writes

    def go_on(self, run_id: str, mode: str, why: object) -> None:
        """Publish it as a user would; all must be as if it had never ended."""
        results, table = self.results, f"lake.results.{run_id}"
        done = results.commands("publish", run_id, "-o", "json")
        assert done.json == {"run_id": run_id, "table": table, "rows": 10}, why
        assert results.rows(table) == RIGHT[mode], why
        assert results.refs(table) == {"main"}, why
        assert results.refs(results.source) == {"main"}, why
        assert not results.lake.table_exists(("results", f"{run_id}__staged")), why
        (status,) = results.commands("status", run_id, "-o", "json").json
        assert (status["stage"], status["staged"]) == ("complete", None), why


@pytest.fixture
def publication(results: Results) -> Publication:
    return Publication(results)


def test_a_publication_goes_on_wherever_it_ended(publication: Publication) -> None:
    # Before the commit; after it, when nothing says so yet; and with a branch still to be removed.
    for mode, number in (("upsert", 1), ("append", 2), ("replace", 5)):
        run_id = publication.staged(mode)
        writes = publication.ended(number, "publish", run_id)
        assert writes.ended
        publication.go_on(run_id, mode, writes.done)
    again = publication.staged("append")
    publication.go_on(again, "append", "never ended")
    publication.results.commands("cancel", again)
    # Another run of that name is another one: its rows are not those that the table has.
    publication.begun("append", again)
    publication.results.commands("publish", again)
    assert publication.results.rows(f"lake.results.{again}") == RIGHT["append"] + STAGED


@pytest.mark.long
@pytest.mark.parametrize("mode", RIGHT)
def test_a_publication_goes_on_from_every_write(publication: Publication, mode: str) -> None:
    for number in itertools.count():
        run_id = publication.staged(mode)
        writes = publication.ended(number, "publish", run_id)
        publication.go_on(run_id, mode, writes.done)
        if not writes.ended:
            break
    source, target = f"commit {publication.results.name}", f"commit {run_id}"
    # A branch is made, changed twice, committed to main, and removed.
    commits = [target] * (5 if mode == "replace" else 1)
    assert writes.done == [source, *commits, "run.json", f"drop {run_id}__staged"]


def test_a_cancellation_goes_on_wherever_it_ended(publication: Publication) -> None:
    results = publication.results
    for number in itertools.count():
        run_id = publication.staged("replace")
        table = f"lake.results.{run_id}"
        # As a publication leaves it that is killed.
        results.refer(table, f"headrace-{run_id}", branch=True)
        cancel = ("cancel", run_id, "--delete-output")
        writes = publication.ended(number, *cancel)
        if writes.ended:
            results.commands(*cancel)
        with pytest.raises(UsageError, match=f"there is no run {run_id}"):
            results.commands(*cancel)
        assert results.rows(table) == OUTSIDE + INSIDE + KEYED
        assert results.refs(table) == results.refs(results.source) == {"main"}
        assert not results.lake.table_exists(("results", f"{run_id}__staged"))
        folder = state_of(results.workspace, run_id).folder
        assert not list(folder.parent.glob(f"*{run_id}*")), writes.done
        if not writes.ended:
            break
    assert len(writes.done) == 4
    # Its output is left: another run of that name is not to add to it.
    results.commands("cancel", results.name)
    with pytest.raises(UsageError, match=f"{results.name}__{results.name} already exists"):
        results.stage(publication.app, results.name)


class Sweeping:
    """`backfill sweep` of an application whose live result is right."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.app = results.app()
        table = f"lake.results.{results.name}"
        results.spark.sql(f"DELETE FROM {table} WHERE true")
        query = f"SELECT id, __metadata__.kafka_ingestion_ts FROM {results.source}"
        results.spark.sql(f"INSERT INTO {table} {query}")
        period = ["--start-ts", START, "--end-ts", END, "--warmup", "5min", "--cooldown", "5min"]
        self.words = ["sweep", "-c", str(self.app.path), *period, "--thresholds", "10min"]
        self.words += ["--key", "id", "-o", "json"]

    def ended(self, number: int | str) -> Writes:
        with ends_after(number, self.results.catalog_file) as writes:
            self.results.commands(*self.words)
        return writes

    def go_on(self, why: object) -> None:
        """Sweep as a user would; all must be as if none had ever ended."""
        results = self.results
        done = results.commands(*self.words)
        assert done.code == 0, why
        (tried,) = done.json["tried"]
        assert (tried["safe"], tried["match_percent"], tried["dropped_late"]) == (True, 100, 0), why
        named = [name for _, name in results.lake.list_tables("results") if results.name in name]
        assert named == [results.name], why
        assert results.refs(results.source) == {"main"}, why
        assert not list((results.workspace.state_dir / "backfill").glob("*sweep-*")), why


@pytest.fixture
def sweeping(results: Results) -> Sweeping:
    return Sweeping(results)


def test_a_sweep_begins_again_wherever_it_ended(sweeping: Sweeping) -> None:
    assert sweeping.ended("certificate.json").ended
    # And while the next one removes what it has left.
    for number in range(3):
        assert sweeping.ended(number).ended
    sweeping.go_on("ended four times")


@pytest.mark.long
def test_a_sweep_begins_again_from_every_write(sweeping: Sweeping) -> None:
    for number in itertools.count():
        writes = sweeping.ended(number)
        if not writes.ended:
            break
        sweeping.go_on(writes.done)
    assert writes.done[:2] == ["run.json", "plan.jsonl"]
    assert "certificate.json" in writes.done
    assert writes.done[-1].startswith(".removed.sweep-")
