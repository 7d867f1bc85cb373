"""One command, measured: wall time, the CPU time of its whole tree, and what else was going on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.reaper import KILL_AFTER_S, Order, Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
LINGER_S = 15.0
LAST_LINES = 6


class CommandFailed(Exception):
    """A command that ended badly, or not in time."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and where it runs."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    # Time and CPU are counted from when this file has so many lines.
    warm: tuple[Path, int] | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command used, and what it printed."""

    wall_s: float
    cpu_s: float
    unwaited_cpu_s: float
    watched_cpu_s: float
    # What everybody else on the machine used meanwhile: how far a figure can be trusted.
    elsewhere_cpu_s: float
    stdout: str


def measure(command: Command, limit_s: float, watched: Sequence[int] = ()) -> Measured:
    """Run a command to its end; raise where it fails. `watched` are servers that it works with."""
    command.folder.mkdir(parents=True, exist_ok=True)
    busy_before, watched_before = machine_cpu_s(), sum(cpu_s(pid) for pid in watched)
    result, stdout, stderr = _run(command, limit_s, watched)
    watched_cpu_s = sum(cpu_s(pid) for pid in watched) - watched_before
    busy_s = machine_cpu_s() - busy_before
    if result.exit_code != 0:
        last = (stderr.strip() or stdout.strip()).splitlines()[-LAST_LINES:]
        shown = "\n".join(last) or "it printed nothing"
        raise CommandFailed(f"{Path(command.argv[0]).name} ended with {result.exit_code}: {shown}")
    warm_wall_s, warm_cpu_s, warm_watched_s = _until_warm(command, result, watched_before)
    return Measured(
        wall_s=result.wall_s - warm_wall_s,
        cpu_s=result.cpu_s - warm_cpu_s,
        unwaited_cpu_s=result.unwaited_cpu_s,
        watched_cpu_s=watched_cpu_s - warm_watched_s,
        elsewhere_cpu_s=max(0.0, busy_s - result.cpu_s - watched_cpu_s),
        stdout=stdout,
    )


def _until_warm(
    command: Command, result: Result, watched_before_s: float
) -> tuple[float, float, float]:
    """Return wall, CPU and the servers' CPU seconds that went by before the command was warm."""
    if command.warm is None:
        return 0.0, 0.0, 0.0
    if result.warm_wall_s is None or result.warm_cpu_s is None or result.warm_watched_cpu_s is None:
        raise CommandFailed(f"{Path(command.argv[0]).name} ended before it was warm")
    return result.warm_wall_s, result.warm_cpu_s, result.warm_watched_cpu_s - watched_before_s


def cpu_s(pid: int) -> float:
    """Return what a living process has used so far."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def machine_cpu_s() -> float:
    """Return what all cores together have been busy since the machine started."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # Linux counts a guest's time within user time already.
    twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times) - idle - twice)


def _run(command: Command, limit_s: float, watched: Sequence[int]) -> tuple[Result, str, str]:
    folder = command.folder.absolute()
    order = Order(
        parent=os.getpid(),
        argv=tuple(command.argv),
        folder=str(folder),
        environment=dict(command.environment),
        stdout=str(folder / "stdout.txt"),
        stderr=str(folder / "stderr.txt"),
        result=str(folder / "measured.json"),
        linger_s=LINGER_S,
        warm_file="" if command.warm is None else str(command.warm[0]),
        warm_lines=0 if command.warm is None else command.warm[1],
        watched=tuple(watched),
    )
    argv = [sys.executable, "-m", "benchmarks.reaper", json.dumps(asdict(order))]
    # A session of its own: Ctrl-C is ours to hear, and is passed on in order.
    with subprocess.Popen(
        argv,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as reaper:
        try:
            _, problem = reaper.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"did not end within {limit_s:.0f} s") from None
        finally:
            _end(reaper)
    if reaper.returncode != 0:
        raise CommandFailed(problem.strip())
    result = Result(**json.loads(Path(order.result).read_text(encoding="utf-8")))
    return result, _text(order.stdout), _text(order.stderr)


def _end(reaper: subprocess.Popen[str]) -> None:
    if reaper.poll() is None:
        # It ends the whole tree, at need by force, before it ends itself.
        reaper.terminate()
        try:
            reaper.wait(3 * KILL_AFTER_S)
        except subprocess.TimeoutExpired:
            reaper.kill()
            reaper.wait()


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")
