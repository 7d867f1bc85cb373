"""The same line on a Spark that runs in processes of its own."""

from __future__ import annotations

import json
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.embedded.broker import free_port
from headrace.embedded.process import start_tethered, stop_child, wait_until
from tests.end_to_end.commands import run, write_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.embedded.broker import Broker

LIMIT_S = 90.0


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A master and a worker on the loopback; they end with the test, however it ends."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    port, page = free_port(), free_port()
    url = f"spark://127.0.0.1:{port}"
    here = ["--host", "127.0.0.1"]
    package = "org.apache.spark.deploy"
    spark_class = str(home / "bin" / "spark-class")
    environment = {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
    at = ["--port", str(port), "--webui-port", str(page)]
    of = ["--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
    of += ["--work-dir", str(tmp_path / "work"), url]
    commands = {
        "master": [spark_class, f"{package}.master.Master", *here, *at],
        "worker": [spark_class, f"{package}.worker.Worker", *here, *of],
    }
    started = {
        name: start_tethered(command, tmp_path / f"{name}.out", environment)[0]
        for name, command in commands.items()
    }

    def alive_workers() -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=2) as answer:
                return int(json.load(answer)["aliveworkers"])
        except OSError:
            return 0

    try:
        came = wait_until(lambda: alive_workers() == 1, LIMIT_S)
        assert came, [(tmp_path / f"{name}.out").read_text() for name in started]
        yield url
    finally:
        for process in reversed(started.values()):
            stop_child(process, LIMIT_S)


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
    executors = [path.read_text() for path in (tmp_path / "work").glob("app-*/0/stderr")]
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
