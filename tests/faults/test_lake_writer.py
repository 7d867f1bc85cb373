"""Lake writers that are killed at any moment, and two that take the same table for theirs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.iceberg.offsets import offsets_of
from headrace.iceberg.tables import table_loader
from headrace.kafka.cluster import KafkaCluster
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable

LAKE_WRITER = Path(sys.executable).parent / "lake-writer"
LIMIT_S = 180.0
SEED = 7


class Writer:
    """A lake writer as a process, its words in a file."""

    def __init__(self, path: Path, root: Path, *more: str) -> None:
        self._said = root / f"said-{random.randrange(2**32)}"
        command = [str(LAKE_WRITER), "start", "-c", str(path), "--workspace", str(root), *more]
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        return self._said.read_text()

    def landed(self) -> int:
        return self.said.count("batch landed")

    def ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> int:
        """Wait for it to end by itself."""
        return self._process.wait(LIMIT_S)

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self.end()

    def kill(self) -> None:
        """Kill it and its JVM, as a machine does that loses power."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(LIMIT_S)


def audit(path: Path, root: Path) -> tuple[int, dict[str, object]]:
    command = [str(LAKE_WRITER), "audit", "-c", str(path), "--workspace", str(root), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, json.loads(done.stdout)


def assert_each_offset_once(pipelines: Pipelines, name: str) -> None:
    """Compare with the topic by plain counting, without the audit's arithmetic."""
    table = table_loader(pipelines.workspace, f"lake.tv.{name}")()
    found = [np.stack(pair) for pair in offsets_of(table, name)]
    pairs = np.concatenate(found, axis=1)
    for number, span in KafkaCluster(pipelines.workspace.cluster("fronting")).offsets(name).items():
        offsets = np.sort(pairs[1][pairs[0] == number])
        assert np.array_equal(offsets, np.arange(span.start, span.stop))


def killed_again_and_again(
    pipelines: Pipelines, name: str, kills: int, events: int, max_rows: int
) -> None:
    chance = random.Random(SEED)
    root = pipelines.workspace.root
    pipelines.make_topic(name, 3)
    path = pipelines.table(name, name, batch={"max_rows": max_rows, "max_interval": "100ms"})
    each = events // (kills + 1)
    pause = threading.Event()
    for number in range(kills):
        sent = range(number * each, (number + 1) * each)
        sending = threading.Thread(target=pipelines.send, args=(name, list(map(event, sent))))
        sending.start()
        writer = Writer(path, root)
        batches = chance.randrange(3)
        assert wait_until(lambda: writer.landed() >= batches or writer.ended(), LIMIT_S)  # noqa: B023 - asked at once
        pause.wait(chance.random())
        assert not writer.ended(), writer.said
        writer.kill()
        sending.join(LIMIT_S)
    pipelines.send(name, map(event, range(kills * each, events)))
    last = Writer(path, root, "--once")
    assert last.end() == 0, last.said
    code, found = audit(path, root)
    assert (code, found["ok"], found["rows"]) == (0, True, events)
    assert_each_offset_once(pipelines, name)


def test_killed_in_the_middle(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    pipelines = Pipelines(load_workspace(make_workspace()))
    killed_again_and_again(pipelines, unique("killed"), kills=1, events=20_000, max_rows=2_000)


@pytest.mark.long
def test_killed_fifty_times_during_two_million_events(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    pipelines = Pipelines(load_workspace(make_workspace()))
    killed_again_and_again(pipelines, unique("killed"), 50, 2_000_000, max_rows=5_000)


@pytest.mark.long
def test_two_machines_land_the_same_topic(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    """Nothing in common but broker, catalog and the file's text: one of them stops, and says why."""
    name = unique("twice")
    first, second = (Pipelines(load_workspace(make_workspace())) for _ in range(2))
    first.make_topic(name, 2)
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{first.workspace.root}/.headrace/catalog.db",
        "warehouse": f"{first.workspace.root}/.headrace/warehouse",
    }
    paths = [one.table(name, name, batch={"max_interval": "100ms"}) for one in (first, second)]
    other = second.workspace.root / "headrace.yaml"
    text = other.read_text().splitlines()
    text = [f"  lake: {json.dumps(catalog)}" if "lake:" in line else line for line in text]
    other.write_text("\n".join(text))
    writers = [
        Writer(path, one.workspace.root) for path, one in zip(paths, (first, second), strict=True)
    ]
    sent = 0
    while not any(writer.ended() for writer in writers):
        first.send(name, map(event, range(sent, sent + 500)))
        sent += 500
        assert sent < 2_000_000
    (loser,) = [writer for writer in writers if writer.ended()]
    (winner,) = [writer for writer in writers if writer is not loser]
    assert loser.end() == 1
    assert "has committed to lake.tv" in loser.said
    assert f"(pid {winner.pid}, started" in " ".join(loser.said.split())
    before = winner.landed()
    first.send(name, map(event, range(sent, sent + 500)))
    assert wait_until(lambda: winner.landed() > before, LIMIT_S)
    assert winner.stop() == 0
    Writer(paths[0], first.workspace.root, "--once").end()
    code, found = audit(paths[0], first.workspace.root)
    assert (code, found["rows"]) == (0, sent + 500)
    assert_each_offset_once(first, name)
