"""Running the scripts under `peers/`, and reading what commands say of their work."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.measure import ROOT, Command, measure
from headrace.config.load import load_workspace
from headrace.spark import session_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Measured


def peer_command(module: str, settings: Mapping[str, object], folder: Path) -> Command:
    """Return the command that runs one of the peers, its settings in a file."""
    file = folder / "settings.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    argv = [sys.executable, "-m", f"benchmarks.peers.{module}", str(file)]
    # Spark's workers would else be whatever python3 the machine has.
    return Command(argv, folder, {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable})


def spark_settings(workspace: Path, name: str) -> dict[str, str]:
    """Return the settings of our own sessions: a peer differs by its job, not by its Spark."""
    loaded = load_workspace(workspace)
    return session_settings(loaded, name, workspace / "spark.log", {})


def run_first_command(arena: Arena) -> None:
    """Run a command of headrace to its end, so that none that is measured keeps its classes."""
    folder = arena.root / "first-command"
    folder.mkdir()
    arena.new_workspace(folder)
    arena.say("running a first command")
    measure(peer_command("first_command", {"workspace": str(folder)}, folder), arena.limit_s)


def said(measured: Measured) -> dict[str, Any]:
    """Return the JSON object in the last line that a command printed; none is an empty one."""
    lines = measured.stdout.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def said_work_s(measured: Measured) -> float | None:
    """Return the time that a peer measured of its own work."""
    work_s = said(measured).get("work_s")
    return None if work_s is None else float(work_s)


def at_work_s(measured: Measured) -> float | None:
    """Return the time from the first output to the last, where the output was watched."""
    return None if measured.at_work is None else measured.at_work.wall_s


def checkpoint_work_s(checkpoints: Iterable[Path]) -> float | None:
    """Return the time from the first batch's plan to the last batch's commit.

    Spark writes both to the checkpoint of a query, so it can be read for any of them alike.
    """
    begun: list[float] = []
    done: list[float] = []
    for checkpoint in checkpoints:
        begun += _written(checkpoint / "offsets")
        done += _written(checkpoint / "commits")
    return max(done) - min(begun) if begun and done else None


def _written(folder: Path) -> list[float]:
    return [file.stat().st_mtime for file in folder.glob("*") if file.name.isdecimal()]
