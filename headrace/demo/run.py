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
from headrace.demo.report import Counted, render
from headrace.demo.workspace_template import create_workspace
from headrace.embedded.dev import STATE, DevOptions, DevStack
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
class DemoOptions:
    """What was asked for on the command line."""

    ephemeral: bool
    once: bool


def run_demo(base: Path, options: DemoOptions, drain: Drain) -> int:
    """Run the demo in a workspace of its own below `base`; stay up afterwards unless `once`."""
    runs = base / STATE / "demo"
    root = runs / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}"
    _clear_old(runs)
    create_workspace(root)
    with ExitStack() as stack:
        if options.ephemeral:
            stack.callback(shutil.rmtree, root, ignore_errors=True)
        tell("starting Kafka")
        # The catalog is the workspace's; only where Kafka listens is not known before.
        running = stack.enter_context(DevStack(root, load_workspace(root), DevOptions(ports=(0,))))
        _set_address(root, running.broker.bootstrap_servers)
        counted = _walk_through(root, drain)
        if counted is None:
            tell("stopped")
            return 0
        click.echo(render(counted, root, kept=not options.ephemeral))
        if counted.problems():
            return 1
        if not options.once:
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
    _make_batches_small(root)
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
    workspace = load_workspace(root)
    held = KafkaCluster(workspace.cluster("fronting")).offsets("playback_raw")
    quarantined = KafkaCluster(workspace.cluster("fronting")).offsets("playback_raw.quarantine")
    stored = (root / STATE / "warehouse").rglob("*.parquet")
    starts = (root / "replayed").glob("*.jsonl")
    return Counted(
        expected=expected(EVENTS, SEED),
        in_topic=sum(len(span) for span in held.values()),
        routed=routed,
        in_quarantine=sum(len(span) for span in quarantined.values()),
        landed=landed,
        replayed=replayed,
        lines=sum(1 for path in starts for _ in path.open("rb")),
        json_bytes=(root / "records" / "demo.jsonl").stat().st_size,
        lake_bytes=sum(path.stat().st_size for path in stored),
    )


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


def _set_address(root: Path, bootstrap_servers: str) -> None:
    file = root / "headrace.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("127.0.0.1:9092", bootstrap_servers), encoding="utf-8")


def _make_batches_small(root: Path) -> None:
    """Make the lake writer commit several times, so that the replay has steps."""
    file = root / "tables" / "playback_starts.yaml"
    text = file.read_text(encoding="utf-8")
    small = text.replace("max_rows: 5000000", f"max_rows: {BATCH_ROWS}")
    file.write_text(small, encoding="utf-8")


def _clear_old(runs: Path) -> None:
    """Remove all but the newest runs; one that is still going is left alone."""
    for folder in sorted(runs.glob("*-*"))[:-KEPT_RUNS]:
        pid = folder.name.rpartition("-")[2]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def tell(text: str) -> None:
    """Say on stderr what happens now."""
    click.secho(f"demo: {text}", err=True, bold=True)
