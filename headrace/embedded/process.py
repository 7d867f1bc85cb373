"""Child processes that are known again after their parent is gone."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

from headrace import state_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

POLL_S = 0.1
KILL_WAIT_S = 10.0
# A process's start is counted from the machine's own, which moves when the clock is corrected.
CLOCK_SLACK_S = 2.0


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells a process of ours from a later one with the same id."""

    pid: int
    started_s: float

    def write(self, path: Path, **facts: object) -> None:
        """Leave the mark on disk, with whatever the next start should know."""
        whole = json.dumps({"pid": self.pid, "started_s": self.started_s, **facts})
        state_files.write(path, whole.encode(), lasting=False)

    @property
    def alive(self) -> bool:
        """Whether that very process still runs."""
        return self._process() is not None

    def stop(self, grace_s: float) -> None:
        """Ask the process to end, and end it where it does not."""
        process = self._process()
        if process is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() == psutil.STATUS_STOPPED:
                # It would not hear of a request before somebody lets it go on.
                process.kill()
            process.terminate()
            try:
                process.wait(grace_s)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(KILL_WAIT_S)

    def _process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            other = abs(process.create_time() - self.started_s) > CLOCK_SLACK_S
            if other or process.status() == psutil.STATUS_ZOMBIE:
                return None
        except psutil.NoSuchProcess:
            return None
        return process


def read_mark(path: Path) -> tuple[Mark, Mapping[str, Any]] | None:
    """Read what an earlier start left, or nothing where there is no whole mark."""
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Mark(int(facts["pid"]), float(facts["started_s"])), facts
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def start_tethered(
    command: Sequence[str], output: Path, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], Mark]:
    """Start a program that dies with us, in a session of its own, its output in a file.

    To the kernel «us» is the thread that calls: it must be one that stays.
    """
    tether = [sys.executable, "-m", "headrace.embedded.tether", str(os.getpid()), *command]
    with output.open("ab") as sink:
        # A session of its own: Ctrl-C in the terminal is ours to hear, and to pass on in order.
        child = subprocess.Popen(
            tether,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **environment},
        )
    return child, Mark(child.pid, psutil.Process(child.pid).create_time())


def stop_child(child: subprocess.Popen[bytes], grace_s: float) -> None:
    """Ask a child to end, wait, end it where it does not."""
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(grace_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(KILL_WAIT_S)


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Wait until a condition holds; whether it did within the limit."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
