"""The same line on a Spark that runs in processes of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.end_to_end.commands import run, write_workspace
from tests.end_to_end.spark_cluster import spark_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.embedded.broker import Broker


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A master and a worker."""
    with spark_cluster(tmp_path, 1) as url:
        yield url


# tests/faults/test_hosts.py has it on two hosts, in its short form.
@pytest.mark.long
def test_the_line_runs_on_a_cluster(master: str, broker: Broker, tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "ws", "cluster", broker.bootstrap_servers, master)
    events = [
        {"event_id": f"e{n}", "event_type": ("start", "stop")[n % 2], "event_ts": n}
        for n in range(50)
    ]
    lines = "\n".join(json.dumps(event) for event in events)
    sending = ("--cluster", "fronting", "--topic", "cluster_raw")
    assert run("headrace", "produce", *sending, cwd=root, stdin=lines).returncode == 0
    stream = ("start", "-c", "streams/playback.yaml", "--once", "--format", "json")
    route = run("router", *stream, cwd=root)
    assert route.returncode == 0, route.stderr
    starts = json.loads(route.stdout)["outputs"]["starts"]
    assert (starts["read"], starts["written"], starts["filtered"]) == (50, 25, 25)
    land = run("lake-writer", "start", "-c", "tables/starts.yaml", "--once", cwd=root)
    assert land.returncode == 0, land.stderr
    # They ran there, not here.
    executors = [path.read_text() for path in (tmp_path / "work-0").glob("app-*/0/stderr")]
    assert len(executors) == 2, executors
    period = ("--start-ts", "2020-01-01", "--end-ts", "2120-01-01")
    whole = ("replay", "--table", "lake.tv.starts", *period, "--to", "jsonl:out")
    replay = run("backfill", *whole, cwd=root)
    assert replay.returncode == 0, replay.stderr
    ids = sorted(
        json.loads(line)["event_id"]
        for file in (root / "out").glob("step-*.jsonl")
        for line in file.read_text().splitlines()
    )
    assert ids == sorted(event["event_id"] for event in events if event["event_type"] == "start")


def test_a_master_that_is_away_is_named(broker: Broker, tmp_path: Path) -> None:
    root = write_workspace(tmp_path, "away", broker.bootstrap_servers, "spark://127.0.0.1:1")
    sending = ("--cluster", "fronting", "--topic", "away_raw")
    assert run("headrace", "produce", *sending, cwd=root, stdin="{}").returncode == 0
    done = run("router", "start", "-c", "streams/playback.yaml", "--once", cwd=root)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "no Spark master answers at spark://127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
