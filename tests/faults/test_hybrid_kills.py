"""A hybrid source killed in its history, at the hand-over and live: each record once, in order."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.embedded.process import wait_until
from headrace.kafka.sender import Record
from tests.end_to_end.commands import run
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.config.workspace import Workspace

HEADRACE = Path(sys.executable).with_name("headrace")
START_MS = 1_772_323_200_000
PARTITIONS = 2
LANDED, LIVE = 600, 300
LIMIT_S = 180


def records(numbers: range) -> list[Record]:
    return [
        Record(
            json.dumps({"id": n, "kind": "a", "at": START_MS + n * 1000}).encode(),
            timestamp_ms=START_MS + n * 1000,
            partition=n % PARTITIONS,
        )
        for n in numbers
    ]


class Killed:
    """An application over a hybrid source, in a process of its own."""

    def __init__(self, pipelines: Pipelines, name: str) -> None:
        self.pipelines, self.name = pipelines, name
        self.root = pipelines.workspace.root
        live = {"type": "kafka", "cluster": "fronting", "topics": name, "format": "json"}
        past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": name}
        sources = {
            "events": {"type": "hybrid", "past": "past", "live": "live"},
            "live": {**live, "schema": f"schemas/{name}.avsc"},
            # A step for about twenty seconds of the history.
            "past": {**past, "max_misalignment_threshold": "20s"},
        }
        query = (
            "SELECT id, __metadata__.partition AS part, __metadata__.offset AS place FROM events"
        )
        app = {"kind": "app", "name": name, "sources": sources, "transform": {"sql": query}}
        sink = {"type": "jsonl", "path": f"out/{name}"}
        pipelines.write(f"apps/{name}.yaml", {**app, "sink": sink})

    def lines(self) -> list[dict[str, int]]:
        found: list[dict[str, int]] = []
        for path in sorted((self.root / "out" / self.name).glob("*.jsonl")):
            # A repeated batch replaces its files.
            with contextlib.suppress(FileNotFoundError):
                found += [json.loads(line) for line in path.read_text().splitlines()]
        return found

    def kill_when(self, count: int) -> None:
        """Run until so many rows came out, then kill the process with all it has started."""
        command = [str(HEADRACE), "run", "-c", f"apps/{self.name}.yaml"]
        with (self.root / f"{self.name}.log").open("ab") as said:
            process = subprocess.Popen(
                command, cwd=self.root, stdout=said, stderr=said, start_new_session=True
            )
            reached = wait_until(
                lambda: process.poll() is not None or len(self.lines()) >= count, LIMIT_S
            )
            reached = reached and process.poll() is None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(LIMIT_S)
        assert reached, (self.root / f"{self.name}.log").read_text()[-2000:]


@pytest.mark.long
def test_killed_in_every_phase_it_gives_each_record_once(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    pipelines, name = Pipelines(workspace), unique("killed_hybrid")
    pipelines.make_topic(name, PARTITIONS)
    pipelines.send(name, records(range(LANDED)))
    pipelines.land(spark, pipelines.table(name, name))
    pipelines.send(name, records(range(LANDED, LANDED + LIVE // 2)))
    killed = Killed(pipelines, name)
    for count in (LANDED // 2, LANDED + 1):
        killed.kill_when(count)
    pipelines.send(name, records(range(LANDED + LIVE // 2, LANDED + LIVE)))
    ended = run("headrace", "run", "-c", f"apps/{name}.yaml", "--once", cwd=killed.root)
    assert ended.returncode == 0, ended.stderr
    seen = killed.lines()
    assert Counter(one["id"] for one in seen) == dict.fromkeys(range(LANDED + LIVE), 1)
    for number in range(PARTITIONS):
        live = [one["place"] for one in seen if one["part"] == number and one["id"] >= LANDED]
        assert live == sorted(live)
