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

from benchmarks.reaper import KILL_AFTER_S, Order, Result, Used

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
LINGER_S = 15.0
LAST_LINES = 6
# Output is looked at ten times a second, so less of it tells nothing.
SHORTEST_WORK_S = 0.5


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
    # Somebody writes a line to this file when the output begins, and another when all is there.
    progress: Path | None = None
    # Whether it goes on for ever: its time ends with the second of these lines, then it is ended.
    endless: bool = False


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
    peak_rss_bytes: int = 0
    # The same from the first output to the last, None where nobody saw both.
    at_work: Used | None = None


def measure(command: Command, limit_s: float, watched: Sequence[int] = ()) -> Measured:
    """Run a command to its end; raise where it fails. `watched` are servers that it works with."""
    command.folder.mkdir(parents=True, exist_ok=True)
    busy_before, watched_before = machine_cpu_s(), sum(cpu_s(pid) for pid in watched)
    result, stdout, stderr = _run(command, limit_s, watched)
    end = Used(result.wall_s, result.cpu_s, sum(cpu_s(pid) for pid in watched))
    watched_cpu_s = end.watched_cpu_s - watched_before
    busy_s = machine_cpu_s() - busy_before
    if result.exit_code != 0:
        last = (stderr.strip() or stdout.strip()).splitlines()[-LAST_LINES:]
        shown = "\n".join(last) or "it printed nothing"
        raise CommandFailed(f"{Path(command.argv[0]).name} ended with {result.exit_code}: {shown}")
    marks = dict(zip(_marks(command), result.marks, strict=True))
    warm = _until_warm(command, marks, watched_before)
    return Measured(
        wall_s=result.wall_s - warm.wall_s,
        cpu_s=result.cpu_s - warm.cpu_s,
        unwaited_cpu_s=result.unwaited_cpu_s,
        watched_cpu_s=watched_cpu_s - warm.watched_cpu_s,
        elsewhere_cpu_s=max(0.0, busy_s - result.cpu_s - watched_cpu_s),
        stdout=stdout,
        peak_rss_bytes=result.peak_rss_bytes,
        at_work=_at_work(command, marks, end),
    )


def _marks(command: Command) -> list[tuple[Path, int]]:
    """Return the moments at which it matters what has been used."""
    warm = [] if command.warm is None else [command.warm]
    return [*warm, *((command.progress, line) for line in (1, 2) if command.progress is not None)]


def _until_warm(
    command: Command, marks: Mapping[tuple[Path, int], Used | None], watched_before_s: float
) -> Used:
    """Return what was used before the command was warm."""
    if command.warm is None:
        return Used(0.0, 0.0, 0.0)
    warm = marks[command.warm]
    if warm is None:
        raise CommandFailed(f"{Path(command.argv[0]).name} ended before it was warm")
    return Used(warm.wall_s, warm.cpu_s, warm.watched_cpu_s - watched_before_s)


def _at_work(
    command: Command, marks: Mapping[tuple[Path, int], Used | None], end: Used
) -> Used | None:
    """Return what was used between the first output and the last."""
    if command.progress is None:
        return None
    begun, done = marks[command.progress, 1], marks[command.progress, 2]
    if command.endless and done is None:
        raise CommandFailed(
            f"{Path(command.argv[0]).name} ended before all of its output was there"
        )
    # A command that ends with its last record is gone before that record has been seen.
    done = done or end
    if begun is None or done.wall_s - begun.wall_s < SHORTEST_WORK_S:
        return None
    return Used(
        done.wall_s - begun.wall_s,
        done.cpu_s - begun.cpu_s,
        done.watched_cpu_s - begun.watched_cpu_s,
    )


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
        marks=tuple((str(file), lines) for file, lines in _marks(command)),
        endless=command.endless,
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
    result = Result.parse(Path(order.result).read_text(encoding="utf-8"))
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
