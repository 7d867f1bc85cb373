"""A live application goes on while a backfill of the very same file runs beside it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest

from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import table_loader
from headrace.times import format_time_us
from tests.faults.lake_writer_process import Writer
from tests.faults.router_process import Traffic
from tests.integration.app.hybrid_events import PARTITIONS, START_MS, records
from tests.integration.lag import GroupLag
from tests.integration.pipelines import Pipelines
from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.sender import KafkaRecord

BIN = Path(sys.executable).parent
# The past is forty minutes of records, of which a step of the backfill holds one.
PAST, EVERY_MS, THRESHOLD = 240_000, 10, "1min"
MOST_SENT, AT_ONCE, PAUSE_S = 10_000_000, 250, 0.25
LOOKS = 60


class Steady(Traffic):
    """Goes on where the past ends, at the same pace of the records' own clock."""

    def record(self, number: int) -> KafkaRecord:
        return next(iter(records([PAST + number], EVERY_MS)))


@dataclass
class Watched:
    """What an application's group shows, look by look."""

    group: GroupLag
    lags: list[int] = field(default_factory=list)
    # How often all that lay in the topic at one look was done at a later one.
    caught_up: int = 0
    _goal: dict[int, int] = field(default_factory=dict)

    def look(self) -> int:
        """Look how far behind it is."""
        places, ends = self.group.places(), self.group.ends()
        if all(places[number] >= end for number, end in self._goal.items()):
            self.caught_up += bool(self._goal)
            self._goal = ends
        self.lags.append(sum(ends[number] - places[number] for number in ends))
        return self.lags[-1]

    def told(self) -> str:
        return (
            f"lag {min(self.lags):,} to {max(self.lags):,}, median {median(self.lags):,.0f},"
            f" caught up {self.caught_up} times, {len(self.lags)} looks"
        )


@contextlib.contextmanager
def live(path: Path, root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run an application for the length of the block; at its end it is killed if it still runs."""
    command = [str(BIN / "headrace"), "run", "-c", str(path)]
    with (root / "live.log").open("wb") as said:
        process = subprocess.Popen(
            command, cwd=root, stdout=said, stderr=said, start_new_session=True
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(LONG_LIMIT_S)


def end(writer: Writer) -> None:
    """End a writer that a failure has left."""
    if not writer.ended():
        writer.kill()


def application(pipelines: Pipelines, name: str) -> Path:
    """Write an application over a topic and its table: every record, and where it lay."""
    topic = {"type": "kafka", "cluster": "fronting", "topics": name, "format": "json"}
    past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": name}
    sources = {
        "events": {"type": "dynamic", "selected": "live", "candidates": ["live", "past"]},
        "live": {**topic, "schema": f"schemas/{name}.avsc"},
        "past": {**past, "max_misalignment_threshold": THRESHOLD},
    }
    query = (
        "SELECT id, at, __metadata__.partition AS part, __metadata__.offset AS place FROM events"
    )
    sink = {**past, "table": f"{name}_out", "mode": "replace", "time_column": "at"}
    app = {"kind": "app", "name": name, "sources": sources, "transform": {"sql": query}}
    watermarks = {"events": {"column": "at", "delay": "10s"}}
    return pipelines.write(f"apps/{name}.yaml", {**app, "watermarks": watermarks, "sink": sink})


def backfill(words: list[str], root: Path, meanwhile: Callable[[], object]) -> dict[str, object]:
    """Run a command of backfill to its end; returns what it answers."""
    with (root / "backfill.log").open("w") as said:
        command = [str(BIN / "backfill"), *words, "-o", "json"]
        running = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=said)

        def ended() -> bool:
            meanwhile()
            return running.poll() is not None

        assert wait_until(ended, LONG_LIMIT_S)
        answer, _ = running.communicate()
    assert running.returncode == 0, (root / "backfill.log").read_text()[-2000:]
    found = json.loads(answer)
    assert isinstance(found, dict)
    return found


def ids(workspace: Workspace, table: str) -> Counter[int]:
    """Return how often a result has each record."""
    scan = table_loader(workspace, table)().scan(selected_fields=("id",))
    return Counter(scan.to_arrow()["id"].to_pylist())


@pytest.mark.long
def test_a_live_job_keeps_up_while_a_backfill_runs_beside_it(
    workspace: Workspace, unique: Callable[[str], str]
) -> None:
    """Prints the lag before the backfill and during it, as the live job's group shows it."""
    pipelines, name, root = Pipelines(workspace), unique("beside"), workspace.root
    pipelines.make_topic(name, PARTITIONS)
    pipelines.send(name, records(range(PAST), EVERY_MS))
    table = pipelines.table(name, name, batch={"max_interval": "5s"})
    app, result, again = application(pipelines, name), f"lake.tv.{name}_out", f"{name}_again"
    ends = [format_time_us((START_MS + n * EVERY_MS) * 1_000) for n in (0, PAST)]
    period = ["--start-ts", ends[0], "--end-ts", ends[1]]
    fronting = workspace.cluster("fronting")
    with ExitStack() as stack:
        seen = stack.enter_context(GroupLag(fronting, name, f"headrace.{name}.live"))
        before, during = Watched(seen), Watched(seen)
        writer = Writer(table, root)
        stack.callback(end, writer)
        writer.wait_for(lambda: writer.landed() > 0)
        running = stack.enter_context(live(app, root))
        assert wait_until(lambda: seen.lag() == 0 or running.poll() is not None, LONG_LIMIT_S)
        with Steady(fronting, name, lambda _: None, MOST_SENT, AT_ONCE, PAUSE_S, MOST_SENT) as sent:
            wait_until(lambda: before.look() < 0 or len(before.lags) >= LOOKS, LONG_LIMIT_S)
            words = ["replay", "-c", str(app), *period, "--stage", "--run-id", again]
            certificate = backfill(words, root, during.look)
        total = PAST + sent.sent
        print(f"before: {before.told()}\nduring: {during.told()}")  # noqa: T201 - what it is for
        assert wait_until(lambda: seen.lag() == 0 or running.poll() is not None, LONG_LIMIT_S)
        running.send_signal(signal.SIGTERM)
        assert running.wait(LONG_LIMIT_S) == 0, (root / "live.log").read_text()[-2000:]
        assert writer.stop() == 0, writer.said
    assert certificate["complete"]
    # What lay there when the backfill began was done before it ended, and so it went on.
    assert during.caught_up >= 2
    assert ids(workspace, result) == dict.fromkeys(range(total), 1)
    words = ["compare", "--left", result, "--right", f"{result}__{again}", "--key", "id"]
    found = backfill([*words, "--time", "at", *period], root, lambda: None)
    assert (found["matched"], found["match_percent"]) == (PAST, 100)
