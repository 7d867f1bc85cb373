"""`headrace dev --demo`: events through every stage, each by its own command, and the counts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import psutil

from headrace.config.load import load_workspace
from headrace.demo.events import expected, lines
from headrace.demo.workspace_template import create_workspace
from headrace.embedded.dev import STATE, dev_stack
from headrace.errors import Terminal
from headrace.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.signals import Drain

EVENTS: Final = 60_000
SEED: Final = 20_260_301
BATCH_ROWS: Final = 10_000
# The demo's events arrive within seconds: a bound that makes the replay take several steps.
THRESHOLD: Final = "500ms"
KEPT_RUNS: Final = 2
LONG_AGO, FAR_AHEAD = "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of every stage, each with what it should be, and what else there is to say."""

    checks: list[tuple[str, int, int]]
    remarks: list[str]

    def problems(self) -> list[str]:
        """Name the counts that are not what they should be."""
        return [what.strip() for what, found, wanted in self.checks if found != wanted]

    def as_text(self, root: Path, *, kept: bool) -> str:
        """Return the demo's last words."""
        lines = ["", f"{'':38}{'counted':>10}{'expected':>10}"]
        for what, found, wanted in self.checks:
            mark = "" if found == wanted else "  ← differs"
            lines.append(f"{what:<38}{found:>10,}{wanted:>10,}{mark}")
        lines += ["", *self.remarks]
        if self.problems():
            lines.append(f"NOT AS EXPECTED: {', '.join(self.problems())}")
        if kept:
            lines += [
                "",
                f"All files are in {root}",
                "  replayed/           the replayed rows, one file per step, and certificate.json",
                "  .headrace/          the lake, the broker's data, checkpoints and logs",
                "  cd there and run `headrace dev` to look at the topics",
            ]
        return "\n".join(lines)


def run_demo(base: Path, drain: Drain, *, ephemeral: bool, once: bool) -> int:
    """Run the demo in a workspace of its own below `base`; stay up afterwards unless `once`."""
    runs = base / STATE / "demo"
    root = runs / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}"
    _clear_old(runs)
    create_workspace(root)
    with ExitStack() as stack:
        if ephemeral:
            stack.callback(shutil.rmtree, root, ignore_errors=True)
        tell("starting Kafka")
        # The catalog is the workspace's; only where Kafka listens is not known before.
        running = stack.enter_context(dev_stack(root, load_workspace(root), ports=(0,)))
        _replace(root / "headrace.yaml", "127.0.0.1:9092", running.broker.bootstrap_servers)
        counted = _walk_through(root, drain)
        if counted is None:
            tell("stopped")
            return 0
        click.echo(counted.as_text(root, kept=not ephemeral))
        if counted.problems():
            return 1
        if not once:
            tell(f"Kafka stays up at {running.broker.bootstrap_servers} until Ctrl-C")
            while not drain.wait(0.5):
                running.broker.require_alive()
    return 0


def _walk_through(root: Path, drain: Drain) -> Counted | None:
    """Run the stages one after the other; None where somebody asked us to stop."""
    events = root / "records" / "demo.jsonl"
    tell(f"generating {EVENTS:,} events")
    with events.open("w", encoding="utf-8") as file:
        file.writelines(lines(EVENTS, SEED))
    # So that the lake writer commits several times, and the replay has steps.
    table = root / "tables" / "playback_starts.yaml"
    _replace(table, "max_rows: 5000000", f"max_rows: {BATCH_ROWS}")
    produce = "headrace produce --envelope --cluster fronting --topic playback_raw"
    replay = "backfill replay --table lake.playback.starts --to jsonl:replayed"
    replay += f" --max-misalignment {THRESHOLD} -o json"
    steps = [
        [*produce.split(), str(events)],
        ["router", "start", "-c", "streams/playback.yaml", "--once", "--format", "json"],
        ["lake-writer", "start", "-c", "tables/playback_starts.yaml", "--once", "-o", "json"],
        [*replay.split(), "--start-ts", LONG_AGO, "--end-ts", FAR_AHEAD],
    ]
    answers: list[str] = []
    for number, command in enumerate(steps, start=1):
        if drain.requested:
            return None
        shown = " ".join(word.replace(f"{root}/", "") for word in command)
        tell(f"[{number}/{len(steps)}] {shown}")
        answers.append(_run(command, root))
    if drain.requested:
        return None
    return _count(root, answers)


def _count(root: Path, answers: Sequence[str]) -> Counted:
    routed: dict[str, Any] = json.loads(answers[1])["outputs"]["starts"]
    landed: dict[str, Any] = json.loads(answers[2])
    replayed: dict[str, Any] = json.loads(answers[3])
    cluster = KafkaCluster(load_workspace(root).cluster("fronting"))
    in_topic = sum(map(len, cluster.offsets("playback_raw").values()))
    # Its offsets do not tell: the end of a transaction has one too.
    in_quarantine = sum(1 for _ in cluster.records("playback_raw.quarantine"))
    replayed_files = (root / "replayed").glob("*.jsonl")
    replayed_lines = sum(1 for path in replayed_files for _ in path.open("rb"))
    stored = (root / STATE / "warehouse").rglob("*.parquet")
    lake_bytes = sum(path.stat().st_size for path in stored)
    json_bytes = (root / "records" / "demo.jsonl").stat().st_size
    starts_bytes = json_bytes * landed["rows"] / max(1, in_topic)
    wanted = expected(EVENTS, SEED)
    filtered = wanted.sent - wanted.starts - wanted.broken
    checks = [
        ("events in topic playback_raw", in_topic, wanted.sent),
        ("read by the router", routed["read"], wanted.sent),
        ("  written to playback_starts", routed["written"], wanted.starts),
        ("  filtered away", routed["filtered"], filtered),
        ("  quarantined", routed["quarantined"], wanted.broken),
        ("records in the quarantine topic", in_quarantine, wanted.broken),
        ("rows landed in lake.playback.starts", landed["rows"], wanted.starts),
        ("rows replayed", replayed["rows"], wanted.starts),
        ("lines in replayed/*.jsonl", replayed_lines, wanted.starts),
    ]
    remarks = [
        (
            f"{landed['commits']} commits to the lake, {replayed['steps']} replay steps,"
            f" largest disorder {replayed['max_disorder_ms'] / 1000:.3f} s"
            f" of {replayed['threshold_ms'] / 1000:g} s allowed,"
            f" dropped as late {replayed['dropped_late']}"
        ),
        (
            f"the same rows: {starts_bytes / 1e6:.1f} MB as JSON events,"
            f" {lake_bytes / 1e6:.1f} MB in the lake"
        ),
    ]
    return Counted(checks, remarks)


def _run(command: Sequence[str], root: Path) -> str:
    """Run one command as a user would; its stdout is its answer, its stderr is shown."""
    script = Path(sys.executable).with_name(command[0])
    finished = subprocess.run(
        [str(script), *command[1:]], cwd=root, stdout=subprocess.PIPE, text=True, check=False
    )
    if finished.returncode != 0:
        raise Terminal(
            f"{command[0]} ended with {finished.returncode}", f"the demo's workspace is {root}"
        )
    return finished.stdout


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(old, new), encoding="utf-8")


def _clear_old(runs: Path) -> None:
    """Remove all but the newest runs; one that is still going is left alone."""
    for folder in sorted(runs.glob("*-*"))[:-KEPT_RUNS]:
        pid = folder.name.rpartition("-")[2]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def tell(text: str) -> None:
    """Say on stderr what happens now."""
    click.secho(f"demo: {text}", err=True, bold=True)
