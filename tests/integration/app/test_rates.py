"""The rate of an application's replay: in rows, in bytes, found by itself; each row once in all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.apps.spark_source import StepReader
from backfill.plan.period import parse_period
from backfill.run.pace import Throttle, parse_rate
from backfill.run.request import ReplayRequest, new_run_id, state_of
from headrace.config.load import load_app
from headrace.signals import Drain
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

ROWS = 20


@pytest.mark.parametrize("text", ["1000", "3KiB", "auto"])
def test_each_row_once_at_any_rate_and_one_table_waits_for_all(
    spark: SparkSession,
    workspace: Workspace,
    unique: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    text: str,
) -> None:
    name, rate = unique("rates"), parse_rate(text)
    pipelines = Pipelines(workspace)
    for topic in (name, f"{name}_unread"):
        pipelines.make_topic(topic, 1)
        pipelines.send(
            topic, [json.dumps({"id": n, "kind": "a", "at": n}).encode() for n in range(ROWS)]
        )
        pipelines.land(spark, pipelines.table(topic, topic))
    table = {"type": "iceberg", "catalog": "lake", "database": "tv"}
    out = workspace.root / f"{name}_out"
    path = pipelines.write(
        f"apps/{name}.yaml",
        {
            "kind": "app",
            "name": name,
            "sources": {
                "unread": {**table, "table": f"{name}_unread"},
                "events": {**table, "table": name},
            },
            "transform": {"sql": "SELECT id FROM events"},
            "sink": {"type": "jsonl", "path": str(out)},
        },
    )
    run_id = new_run_id()
    request = ReplayRequest(
        (f"lake.tv.{name}_unread", f"lake.tv.{name}"),
        parse_period("2020-01-01", "2100-01-01"),
        (),
        "bounded",
        60_000_000,
        rate=rate,
    )
    run = AppRun(load_app(path, workspace), workspace, run_id, rate)
    certificate = replay_app(run, request, spark, Drain())
    assert certificate.differences() == []
    found = [json.loads(line) for file in out.glob("*") for line in file.read_text().splitlines()]
    assert sorted(int(one["id"]) for one in found) == list(range(ROWS))

    # One that reads a table waits for all of them, also where a table is read twice.
    state = state_of(workspace, run_id)
    waited: list[tuple[int, int]] = []
    monkeypatch.setattr(Throttle, "before", lambda _, rows, size: waited.append((rows, size)))
    tables = (*request.tables, request.tables[0])
    options = {"plan": str(state.plan_file), "rate_limit": text}
    readers = [StepReader({**options, "table": table}) for table in tables]
    for reader in readers:
        reader.latestOffset({"step": 0})
    step = state.plan().steps[0]
    assert waited == [(step.rows, step.size_bytes)]
    for reader in readers:
        reader.stop()
