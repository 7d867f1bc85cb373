"""Writer, maintenance, readers and a replay on one table at once: each row stays what it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import numpy as np
import pytest
import structlog

from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import table_loader
from headrace.kafka.sender import KafkaRecord
from tests.faults.lake_writer_process import (
    LAKE_WRITER,
    Writer,
    audit,
    in_files,
    in_order,
    in_topic,
)
from tests.faults.router_process import Traffic
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pyiceberg.table import Table

BACKFILL = Path(sys.executable).parent / "backfill"
MINUTES = 10
PARTITIONS = 3
T0_MS = 1_772_323_200_000
# So many seconds of the records' time pass in one of ours: hours end while the writer is in them.
FASTER = 40
LONG_AGO_S = 1_000_000_000
# Longer than any one read of the table takes; much shorter than the run.
HISTORY_MS = 60_000
# With all the others at work beside it, on few cores.
MAINTENANCE_LIMIT_S = 900
METADATA = ("__metadata__.partition", "__metadata__.offset")
log = structlog.get_logger(__name__)


@dataclass
class Events(Traffic):
    """Events that came in the past, so that their hours are over and may be compacted."""

    per_s: int = 1_000

    def record(self, number: int) -> KafkaRecord:
        at_ms = T0_MS + number * 1_000 * FASTER // self.per_s
        return KafkaRecord(self.value(number), timestamp_ms=at_ms)


@dataclass
class Reader:
    """Reads the whole table again and again, and holds each read against the one before."""

    load: Callable[[], Table]
    reads: int = 0
    wrong: list[str] = field(default_factory=list)
    _rows: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Reader:
        self._thread = threading.Thread(target=self._read_on)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()

    def _read_on(self) -> None:
        while not self._stop.wait(0.2):
            try:
                self._read()
            except Exception as problem:  # noqa: BLE001 - whatever it is, the test shall tell it
                self.wrong.append(repr(problem))
                return

    def _read(self) -> None:
        found = self.load().scan(selected_fields=("id", *METADATA)).to_arrow().combine_chunks()
        metadata = found["__metadata__"].combine_chunks()
        columns = (metadata.field("partition"), metadata.field("offset"), found["id"])
        rows = in_order(np.stack([one.to_numpy().astype(np.int64) for one in columns], axis=1))
        if len(rows) < self._rows:
            self.wrong.append(f"{len(rows)} rows after {self._rows}")
        for number in range(PARTITIONS):
            offsets = rows[rows[:, 0] == number, 1]
            if not np.array_equal(offsets, np.arange(len(offsets))):
                self.wrong.append(f"partition {number} with a gap or a double")
        self._rows, self.reads = len(rows), self.reads + 1


@dataclass(frozen=True)
class Together:
    """A table that everybody works on."""

    pipelines: Pipelines
    name: str
    path: Path

    @property
    def root(self) -> Path:
        return self.pipelines.workspace.root

    def load(self) -> Table:
        return table_loader(self.pipelines.workspace, f"lake.tv.{self.name}")()

    def maintain(self) -> dict[str, Any]:
        """Make all that is committed old enough to be taken for an orphan, plant one, maintain."""
        folder = Path(urlparse(self.load().location()).path)
        for place in referenced(self.load()):
            os.utime(place, (LONG_AGO_S, LONG_AGO_S))
        orphan = folder / "data" / f"{time.time_ns()}.parquet"
        orphan.write_text("nobody's")
        os.utime(orphan, (LONG_AGO_S, LONG_AGO_S))
        command = [str(LAKE_WRITER), "maintain", "-c", str(self.path), "--workspace"]
        done = subprocess.run(
            [*command, str(self.root), "-o", "json"],
            capture_output=True,
            text=True,
            timeout=MAINTENANCE_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        # On few cores the writer may be first each time; the next one finds it.
        assert orphan.exists() == ("remove_orphan_files" in found["left"]), done.stderr
        log.info("maintained", **found)
        return found

    def replay(self, rows_per_s: int) -> subprocess.Popen[str]:
        """Begin to replay what there is now, slowly."""
        command = [str(BACKFILL), "replay", "--workspace", str(self.root), "-o", "json"]
        command += ["--table", f"lake.tv.{self.name}", "--to", f"jsonl:{self.root}/replayed"]
        command += ["--start-ts", "2026-03-01", "--end-ts", "2026-03-02"]
        command += ["--max-misalignment", "10s", "--rate-limit", str(rows_per_s)]
        with (self.root / "said-replay").open("w") as said:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)

    def replayed(self) -> NDArray[np.int64]:
        found = []
        for file in sorted((self.root / "replayed").glob("step-*.jsonl")):
            for line in file.read_text().splitlines():
                row = json.loads(line)
                place = row["__metadata__"]
                found.append((place["partition"], place["offset"], row["id"]))
        return in_order(np.array(found, np.int64))


def referenced(table: Table) -> set[str]:
    """Return all files that the table's head refers to."""
    head = table.current_snapshot()
    assert head is not None
    found = {table.metadata_location, head.manifest_list}
    found |= {manifest.manifest_path for manifest in head.manifests(table.io)}
    found |= {task.file.file_path for task in table.scan().plan_files()}
    return {urlparse(place).path for place in found}


def all_at_once(pipelines: Pipelines, name: str, seconds: float, per_s: int, first: int) -> None:
    pipelines.make_topic(name, PARTITIONS)
    properties = {
        "history.expire.max-snapshot-age-ms": str(HISTORY_MS),
        "headrace.history.max-snapshots": "100",
    }
    target = {"catalog": "lake", "database": "tv", "table": name, "properties": properties}
    path = pipelines.table(
        name, name, table=target, batch={"max_rows": max(per_s, first // 20), "max_interval": "1s"}
    )
    together = Together(pipelines, name, path)
    cluster, at_once = pipelines.workspace.cluster("fronting"), max(50, per_s // 20)
    with Writer(path, together.root) as writer:
        with (
            Events(cluster, name, event, 10**9, at_once, at_once / per_s, per_s=per_s) as events,
            ExitStack() as whatever_comes,
        ):
            events.allow(first)
            writer.wait_for(lambda: events.rests() and rows_of(together) >= first)
            replay = together.replay(max(1, int(first / seconds)))
            whatever_comes.callback(replay.kill)
            with Reader(together.load) as reader:
                tagged = wait_until(lambda: len(together.load().metadata.refs) > 1, LIMIT_S)
                assert tagged
                events.allow(10**9)
                began = time.monotonic()
                rounds = [together.maintain()]
                while time.monotonic() - began < seconds:
                    rounds.append(together.maintain())
                replay.communicate(timeout=LIMIT_S)
                assert replay.returncode == 0, (together.root / "said-replay").read_text()
        assert not writer.ended(), writer.said
        assert writer.stop() == 0, writer.said
    last = Writer(path, together.root, "--once")
    assert last.end() == 0, last.said
    alone = together.maintain()
    assert alone["left"] == []
    assert alone["orphans_removed"] > 0
    assert reader.wrong == []
    assert reader.reads > 0
    assert sum(one["hours_compacted"] for one in rounds) > 0
    sent = in_topic(cluster.bootstrap_servers, name)
    landed = in_files(pipelines.workspace, name)
    assert len(sent) == events.sent
    assert np.array_equal(landed, sent)
    assert_was_pinned(together.replayed(), sent, first)
    code, found = audit(path, together.root)
    assert (code, found["ok"], found["rows"]) == (0, True, events.sent)
    log.info(
        "counted",
        rows=events.sent,
        commits=writer.landed(),
        maintained=len(rounds) + 1,
        compacted=sum(one["hours_compacted"] for one in rounds),
        expired=sum(one["files_expired"] for one in rounds),
        reads=reader.reads,
        replayed=len(together.replayed()),
    )


def rows_of(together: Together) -> int:
    head = together.load().current_snapshot()
    return 0 if head is None or head.summary is None else int(head.summary["total-records"] or 0)


def assert_was_pinned(replayed: NDArray[np.int64], sent: NDArray[np.int64], at_least: int) -> None:
    """The replay has each row that was there when it began, once, and none that came later."""
    assert len(replayed) >= at_least
    for number in range(PARTITIONS):
        own = replayed[replayed[:, 0] == number]
        assert np.array_equal(own, sent[sent[:, 0] == number][: len(own)])


@pytest.mark.long
def test_all_at_once_for_a_moment(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    pipelines = Pipelines(load_workspace(make_workspace()))
    all_at_once(pipelines, unique("together"), 5, per_s=1_000, first=10_000)


@pytest.mark.long
def test_all_at_once_for_ten_minutes(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    pipelines = Pipelines(load_workspace(make_workspace()))
    all_at_once(pipelines, unique("together"), MINUTES * 60, per_s=1_500, first=60_000)
