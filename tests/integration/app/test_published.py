"""A backfill that replaces a period in one commit, while others go on writing to the table."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
from dataclasses import replace as replace_field
from typing import TYPE_CHECKING

import pytest

from backfill.apps.publish import publish, publish_run
from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import Period, parse_period
from backfill.results.compare import CompareOptions
from backfill.results.sweep import Sweep, cheapest, forget_killed
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest, state_of
from headrace.application.select import of_the_past, smallest_threshold
from headrace.config.load import load_app
from headrace.errors import Terminal, Transient, UsageError
from headrace.iceberg import replace
from headrace.iceberg.catalog import load_table
from headrace.queries.checkpoint import watermark_us
from headrace.signals import Drain
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from backfill.run.certificate import Certificate
    from backfill.run.state import RunRecord
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from tests.integration.pipelines import Pipelines

PERIOD = parse_period("2026-03-01T00:10", "2026-03-01T00:20")
MINUTE_US = 60_000_000
GOOD = set(range(30))
BAD = {number + 1000 for number in GOOD}
INSIDE = set(range(10, 20))


class Stage:
    """An event a minute in the lake, and a table of results in which every minute is wrong."""

    def __init__(self, spark: SparkSession, pipelines: Pipelines, name: str) -> None:
        self.spark, self.pipelines = spark, pipelines
        self.workspace: Workspace = pipelines.workspace
        self.name, self.table = name, f"lake.results.{name}"

    def app(
        self, transform: dict[str, str] | None = None, watermarks: object = None, **sink: object
    ) -> LoadedApp:
        past = {"type": "iceberg", "catalog": "lake", "database": "replays", "table": self.name}
        target = {"type": "iceberg", "catalog": "lake", "database": "results", "table": self.name}
        query = "SELECT id, __metadata__.kafka_ingestion_ts AS at FROM events"
        path = self.pipelines.write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": {"events": past},
                "transform": transform or {"sql": query},
                "watermarks": watermarks or {},
                "sink": {**target, "time_column": "at", **sink},
            },
        )
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.results")
        self.spark.sql(f"CREATE TABLE {self.table} (id bigint, at timestamp) USING iceberg")
        self.insert(*BAD)
        return load_app(path, self.workspace)

    def insert(self, *numbers: int) -> None:
        """Write as a live job would: a row with that number, at the minute of its last two digits."""
        rows = ", ".join(
            f"({n}, timestamp'2026-03-01 00:00:00' + make_dt_interval(0, 0, {n % 100}))"
            for n in sorted(numbers)
        )
        self.spark.sql(f"INSERT INTO {self.table} VALUES {rows}")

    def request(self, app: LoadedApp, *, stage: bool) -> ReplayRequest:
        read = Period(PERIOD.start_us - 5 * MINUTE_US, PERIOD.end_us_exclusive + 5 * MINUTE_US)
        return ReplayRequest(
            tuple(tables_of(app).values()),
            read,
            (),
            "bounded",
            round(smallest_threshold(of_the_past(app.config).values()).total_seconds() * 1_000_000),
            emitted=PERIOD,
            stage=stage,
        )

    def replay(self, app: LoadedApp, run_id: str, *, stage: bool = False) -> Certificate:
        run, request = AppRun(app, self.workspace, run_id), self.request(app, stage=stage)
        return replay_app(run, request, self.spark, Drain())

    def numbers(self, table: str | None = None) -> list[int]:
        self.spark.catalog.refreshTable(table or self.table)
        rows = self.spark.sql(f"SELECT id FROM {table or self.table}").collect()
        return sorted(row["id"] for row in rows)


@pytest.fixture
def stage(
    spark: SparkSession,
    pipelines: Pipelines,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
) -> Stage:
    name = unique("published")
    make_table(lake_catalog, name, [[Stored(0, n, n * 60.0) for n in sorted(GOOD)]], at="at")
    return Stage(spark, pipelines, name)


def of_minutes(numbers: set[int], minutes: set[int]) -> set[int]:
    return {number for number in numbers if number % 100 in minutes}


def test_a_staged_period_is_published_in_one_commit(stage: Stage) -> None:
    app, run_id = stage.app(mode="replace"), f"run-{stage.name}"
    certificate = stage.replay(app, run_id, stage=True)
    assert certificate.rows == 20
    assert stage.numbers() == sorted(BAD)
    record = state_of(stage.workspace, run_id).record()
    assert record is not None
    assert record.staged is not None
    assert stage.numbers(record.staged) == sorted(INSIDE)
    stage.insert(2025)
    before = len(load_table(stage.workspace, stage.table).history())
    assert publish(stage.spark, stage.workspace, run_id, record) == 10
    outside = of_minutes(BAD, GOOD - INSIDE)
    assert stage.numbers() == sorted({*INSIDE, *outside, 2025})
    table = load_table(stage.workspace, stage.table)
    assert len(table.history()) == before + 1
    assert list(table.refs()) == ["main"]
    with pytest.raises(Terminal, match="is gone"):
        publish(stage.spark, stage.workspace, run_id, record)
    with pytest.raises(UsageError, match="has finished"):
        replay_app(AppRun(app, stage.workspace, run_id), None, stage.spark, Drain())
    assert stage.numbers() == sorted({*INSIDE, *outside, 2025})


def test_what_others_commit_meanwhile_stays_or_is_replaced_too(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, whole = stage.app(mode="replace"), replace._publish  # noqa: SLF001 - the moment between
    meanwhile = iter([2015, 2025])

    def late(*words: object) -> None:
        for number in meanwhile:
            stage.insert(number)
            break
        whole(*words)  # type: ignore[arg-type]  # passed on as they are

    monkeypatch.setattr(replace, "_publish", late)
    assert stage.replay(app, f"run-{stage.name}").complete
    outside = of_minutes(BAD, GOOD - INSIDE)
    assert stage.numbers() == sorted({*INSIDE, *outside, 2025})
    assert next(meanwhile, None) is None


def test_a_staged_append_is_published_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    app, run_id = stage.app(mode="append"), f"run-{stage.name}"
    stage.replay(app, run_id, stage=True)
    record = state_of(stage.workspace, run_id).record()
    assert record is not None
    spark = stage.spark
    with monkeypatch.context() as patched:
        # Killed after the commit, before the staging was removed.
        patched.setattr("backfill.apps.publish.drop", lambda *_: None)
        publish(spark, stage.workspace, run_id, record)
    publish(spark, stage.workspace, run_id, record)
    assert stage.numbers() == sorted({*BAD, *INSIDE})


def test_publishing_goes_by_what_the_run_was_begun_with(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, run_id = stage.app(mode="append"), f"run-{stage.name}"
    stage.replay(app, run_id, stage=True)
    text = app.path.read_text(encoding="utf-8")
    changed = text.replace(f'"table": "{stage.name}", "time', f'"table": "{stage.name}_new", "time')
    changed = changed.replace('"append"', '"replace"')
    assert changed.count(f"{stage.name}_new") == 1
    app.path.write_text(changed, encoding="utf-8")
    monkeypatch.setattr("headrace.spark.session", lambda *_: contextlib.nullcontext(stage.spark))
    assert publish_run(stage.workspace, run_id) == (stage.table, 10)
    # Another mode would have taken what stood there, another table would have all of it.
    assert stage.numbers() == sorted({*BAD, *INSIDE})
    assert not stage.spark.catalog.tableExists(f"{stage.table}_new")


WINDOWS = "SELECT count(*) AS id, window.{at} AS at FROM events GROUP BY window(at, '5 minutes')"


def staged_windows(stage: Stage, at: str, *, close: bool) -> tuple[str, RunRecord]:
    """Stage counts by window of the period alone, with those that are open at its end or without."""
    app = stage.app(
        mode="append",
        transform={"sql": WINDOWS.format(at=at)},
        watermarks={"events": {"column": "at", "delay": "1min"}},
    )
    run_id = f"run-{stage.name}"
    request = replace_field(stage.request(app, stage=True), period=PERIOD, close_windows=close)
    replay_app(AppRun(app, stage.workspace, run_id), request, stage.spark, Drain())
    record = state_of(stage.workspace, run_id).record()
    assert record is not None
    return run_id, record


def live_is_at(stage: Stage, watermark_us: int) -> None:
    commit = stage.workspace.state_dir / f"app/{stage.name}/checkpoint/commits/7"
    commit.parent.mkdir(parents=True, exist_ok=True)
    said = json.dumps({"nextBatchWatermarkMs": watermark_us // 1000})
    commit.write_text(f"v1\n{said}", encoding="utf-8")


def test_what_the_live_run_has_not_emitted_yet_is_not_published(stage: Stage) -> None:
    run_id, record = staged_windows(stage, "start", close=True)
    # The last window begins five minutes before the period's end, and ends with it.
    live_is_at(stage, PERIOD.end_us_exclusive - 1000)
    with pytest.raises(Transient, match="these rows are in the table twice") as raised:
        publish(stage.spark, stage.workspace, run_id, record)
    assert f"backfill publish {run_id} when" in raised.value.advice
    live_is_at(stage, PERIOD.end_us_exclusive)
    assert publish(stage.spark, stage.workspace, run_id, record) == 2
    assert len(stage.numbers()) == len(BAD) + 2


def test_a_live_run_that_is_as_far_as_the_replay_holds_up_nothing(stage: Stage) -> None:
    """Windows are open at the end of all that came, for both of them."""
    run_id, record = staged_windows(stage, "end", close=False)
    replayed_us = watermark_us(state_of(stage.workspace, run_id).checkpoint)
    assert replayed_us is not None
    assert replayed_us < PERIOD.end_us_exclusive
    live_is_at(stage, replayed_us)
    assert publish(stage.spark, stage.workspace, run_id, record) == 1


def test_a_run_is_gone_on_with_by_the_application_that_began_it(stage: Stage) -> None:
    app, run_id = stage.app(mode="append"), f"run-{stage.name}"
    run = AppRun(app, stage.workspace, run_id)
    with Drain() as asked:
        signal.raise_signal(signal.SIGTERM)
        assert not replay_app(run, stage.request(app, stage=False), stage.spark, asked).complete
    text = app.path.read_text(encoding="utf-8")
    app.path.write_text(text.replace("SELECT id,", "SELECT id + 1 AS id,"), encoding="utf-8")
    changed = replace_field(run, app=load_app(app.path, stage.workspace))
    with pytest.raises(
        UsageError, match=r"has changed since run .* was started: transform"
    ) as raised:
        replay_app(changed, None, stage.spark, Drain())
    assert "start another run" in raised.value.advice
    # What makes no difference to a replay is no change.
    app.path.write_text(f"{text}\n# the same", encoding="utf-8")
    same = replace_field(run, app=load_app(app.path, stage.workspace))
    certificate = replay_app(same, None, stage.spark, Drain())
    assert certificate.complete
    assert certificate.app is not None
    assert certificate.app.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert stage.numbers() == sorted({*BAD, *INSIDE})


@pytest.mark.long
def test_a_sweep_tries_each_threshold_and_leaves_nothing_behind(stage: Stage) -> None:
    app = stage.app(mode="replace")
    # The live result: right but for one row.
    stage.spark.sql(f"DELETE FROM {stage.table} WHERE true")
    stage.insert(*(GOOD - {15}), 1015)
    request = stage.request(app, stage=True)
    wish = CompareOptions(("id",), (), "at", PERIOD, examples=0)
    one_app = Sweep(app, stage.workspace, request, stage.table, wish)
    found = [one_app.attempt(stage.spark, Drain(), minutes * MINUTE_US) for minutes in (2, 10)]
    tried = [one for one in found if one is not None]
    assert [one.threshold_us // MINUTE_US for one in tried] == [2, 10]
    assert tried[0].steps > tried[1].steps
    assert {round(one.match_percent, 2) for one in tried} == {round(100 * 9 / 11, 2)}
    assert cheapest(tried, 99) is None
    assert left_behind(stage) == ([stage.name], [], [])


def left_behind(stage: Stage) -> tuple[list[str], list[str], list[str]]:
    """Return the tables of results, the tags of the table that is read, and the state of sweeps."""
    names = stage.spark.sql("SHOW TABLES IN lake.results").collect()
    tables = [row["tableName"] for row in names if row["tableName"].startswith(stage.name)]
    refs = load_table(stage.workspace, f"lake.replays.{stage.name}").metadata.refs
    folders = (stage.workspace.state_dir / "backfill").glob("sweep-*")
    return tables, [name for name in refs if name != "main"], [one.name for one in folders]


def test_a_sweep_that_is_drained_or_fails_or_is_killed_leaves_nothing_behind(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = stage.app(mode="append")
    request = stage.request(app, stage=True)
    wish = CompareOptions(("id",), (), "at", PERIOD, examples=0)
    one_app = Sweep(app, stage.workspace, request, stage.table, wish)
    with Drain() as asked:
        signal.raise_signal(signal.SIGTERM)
        assert one_app.attempt(stage.spark, asked, 2 * MINUTE_US) is None
        assert left_behind(stage) == ([stage.name], [], [])
        # A kill is an end after which nothing is tidied up.
        with monkeypatch.context() as patched:
            patched.setattr("backfill.results.sweep.forget", lambda *_: None)
            assert one_app.attempt(stage.spark, asked, 2 * MINUTE_US) is None
    tables, tags, folders = left_behind(stage)
    assert (len(tables), len(tags), len(folders)) == (2, 1, 1)
    forget_killed(stage.workspace)
    assert left_behind(stage) == ([stage.name], [], [])
    stage.spark.sql(f"DROP TABLE {stage.table}")
    with pytest.raises(Exception, match=stage.name):
        one_app.attempt(stage.spark, Drain(), 2 * MINUTE_US)
    assert left_behind(stage) == ([], [], [])
