"""What becomes of windows that are open at the end of a replay, and of a table that nobody uses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from backfill.apps import replay
from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest, new_run_id
from headrace.application.select import of_the_past, smallest_threshold
from headrace.config.load import load_app
from headrace.errors import UsageError
from headrace.signals import Drain
from tests.integration.backfill.in_process import Commands
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from backfill.run.certificate import Certificate
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

START_MS = 1_772_323_200_000
MINUTE_MS = 60_000
MICROSECONDS_PER_S = 1_000_000
BY_MINUTE = """
SELECT window.start AS minute, count(*) AS events, max(__metadata__.offset) AS newest
FROM (SELECT at, __metadata__ FROM events UNION ALL SELECT at, __metadata__ FROM others)
GROUP BY window(at, '1 minute')
"""
# What has no partner is known when the watermark has passed, of both sides.
ALONE = """
SELECT l.id FROM events l LEFT JOIN others r
ON l.id = r.id AND r.at BETWEEN l.at AND l.at + INTERVAL 5 MINUTES
WHERE l.id % 2 = 1
"""


class Crash(Exception):
    """As if the process ended here."""


class Stage:
    """A topic with an event in each of twenty minutes, landed; applications over it."""

    def __init__(self, spark: SparkSession, workspace: Workspace, name: str) -> None:
        self.spark, self.workspace, self.name = spark, workspace, name
        self.pipelines = Pipelines(workspace)
        for topic, step in ((name, 1), (f"{name}_others", 2)):
            made = [
                json.dumps({"id": n, "kind": "a", "at": START_MS + n * MINUTE_MS}).encode()
                for n in range(0, 20, step)
            ]
            self.pipelines.make_topic(topic, 1)
            self.pipelines.send(topic, made)
            self.pipelines.land(spark, self.pipelines.table(topic, topic))

    def app(self, query: str, **more: object) -> LoadedApp:
        table = {"type": "iceberg", "catalog": "lake", "database": "tv"}
        marked = {"column": "at", "delay": "5min"}
        path = self.pipelines.write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": {
                    "events": {**table, "table": self.name},
                    "others": {**table, "table": f"{self.name}_others"},
                },
                "transform": {"sql": query},
                "watermarks": {"events": marked, "others": marked},
                "sink": {"type": "jsonl", "path": str(self.out)},
                **more,
            },
        )
        return load_app(path, self.workspace)

    @property
    def out(self) -> Path:
        return self.workspace.root / f"{self.name}_out"

    def replay(
        self, app: LoadedApp, *, close_windows: bool, run_id: str | None = None
    ) -> Certificate:
        request = ReplayRequest(
            tuple(tables_of(app).values()),
            parse_period("2020-01-01", "2100-01-01"),
            (),
            "bounded",
            int(
                smallest_threshold(of_the_past(app.config).values()).total_seconds()
                * MICROSECONDS_PER_S
            ),
            close_windows=close_windows,
        )
        return replay_app(
            AppRun(app, self.workspace, run_id or new_run_id()), request, self.spark, Drain()
        )

    def results(self) -> list[dict[str, object]]:
        files = list(self.out.glob("*.jsonl"))
        found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        for file in files:
            file.unlink()
        return found


@pytest.fixture
def stage(spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]) -> Stage:
    return Stage(spark, workspace, unique("open_windows"))


def test_each_window_once_and_none_of_the_year_9999(stage: Stage) -> None:
    app = stage.app(BY_MINUTE)
    left = stage.replay(app, close_windows=False)
    assert left.open_windows == "left"
    assert len(stage.results()) < 20
    closed = stage.replay(app, close_windows=True)
    assert (closed.open_windows, closed.complete, closed.differences()) == ("closed", True, [])
    assert (closed.rows, closed.dropped_late) == (left.rows, 0)
    counted = sorted(stage.results(), key=lambda one: str(one["minute"]))
    assert [one["events"] for one in counted] == [2, 1] * 10
    assert [one["newest"] for one in counted] == list(range(20))


def test_what_waits_for_a_partner_comes_alone_after_a_crash_before_the_end(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_: Path) -> None:
        raise Crash

    app, run_id = stage.app(ALONE), new_run_id()
    with monkeypatch.context() as patched:
        patched.setattr(replay, "let_all_windows_end", crash)
        with pytest.raises(Crash):
            stage.replay(app, close_windows=True, run_id=run_id)
    assert stage.results() == []
    closed = replay_app(AppRun(app, stage.workspace, run_id), None, stage.spark, Drain())
    assert closed.open_windows == "closed"
    assert closed.differences() == []
    assert sorted(str(one["id"]) for one in stage.results()) == sorted(map(str, range(1, 20, 2)))


def test_a_table_that_the_transform_does_not_read_is_no_loss(stage: Stage) -> None:
    done = stage.replay(stage.app("SELECT id FROM events"), close_windows=False)
    assert (done.rows, done.differences()) == (20, [])
    assert [one.is_unread for one in done.sources] == [False, True]
    assert "0 rows, not read by the transform, by the plan 10" in done.to_text("nowhere")


def test_it_is_refused_where_nothing_closes(
    stage: Stage, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = Commands(workspace, capsys)
    app = stage.app("SELECT id FROM events", watermarks={})
    with pytest.raises(UsageError, match="close needs watermarks"):
        commands(
            *("replay", "-c", str(app.path), "--start-ts", "2020-01-01", "--end-ts", "2100-01-01"),
            *("--open-windows", "close"),
        )
    assert stage.results() == []
