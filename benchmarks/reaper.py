"""Runs one command and counts the CPU time of every process that comes of it.

`python -m benchmarks.reaper ORDER` is the parent that orphans fall to (a subreaper): a JVM that
outlives its driver is waited for here, and counted. It ends when the last of them has ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.process_tree import TICKS_PER_S, ProcessTree, read

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY_S = 0.1
KILL_AFTER_S = 10.0
HEARD = {signal.SIGCHLD, signal.SIGTERM}


@dataclass(frozen=True, slots=True)
class Order:
    """What to run, and where its output goes."""

    parent: int
    argv: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    stdout: str
    stderr: str
    result: str
    # How long processes may outlive the command before they are told to end.
    linger_s: float
    # The measured time begins when this file has so many lines; with no file at the start.
    warm_file: str = ""
    warm_lines: int = 0
    # Servers that the command works with: what they have used by then is told, too.
    watched: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What a command used. Wall time ends with the command, CPU time with its last process."""

    exit_code: int
    wall_s: float
    cpu_s: float
    # The part of it that was seen in /proc only, as no parent waited for the process.
    unwaited_cpu_s: float
    # What had been used when the command was warm; None where that was not asked, or never was.
    warm_wall_s: float | None = None
    warm_cpu_s: float | None = None
    warm_watched_cpu_s: float | None = None


class Reaper:
    """One command and all that comes of it."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._tree = ProcessTree(os.getpid())
        self._end_at: float | None = None
        self._signal = signal.SIGTERM
        self._warm: tuple[float, float, float] | None = None

    def run(self) -> Result:
        """Run the command to its end, and wait for everybody it left behind."""
        started = time.monotonic()
        main = self._spawn()
        wall_s, exit_code = 0.0, 0
        while True:
            heard = signal.sigtimedwait(HEARD, LOOK_EVERY_S)
            now = time.monotonic()
            if heard is not None and heard.si_signo == signal.SIGTERM:
                self._end_at = now
            try:
                while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                    self._tree.waited_for(ended[0])
                    if ended[0] == main:
                        wall_s, exit_code = now - started, os.waitstatus_to_exitcode(ended[1])
                        self._end_at = self._end_at or now + self._order.linger_s
            except ChildProcessError:
                break
            self._tree.look()
            self._look_whether_warm(now - started)
            if self._end_at is not None and now >= self._end_at:
                self._end_all(now)
        self._tree.look()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        counted = usage.ru_utime + usage.ru_stime
        lost_s = self._tree.lost_s
        return Result(exit_code, wall_s, counted + lost_s, lost_s, *(self._warm or ()))

    def _look_whether_warm(self, wall_s: float) -> None:
        order = self._order
        if self._warm is not None or not order.warm_file:
            return
        with suppress(OSError):
            if Path(order.warm_file).read_bytes().count(b"\n") < order.warm_lines:
                return
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            so_far = usage.ru_utime + usage.ru_stime + self._tree.running_s + self._tree.lost_s
            servers = (read(pid) for pid in order.watched)
            ticks = sum(server.cpu_ticks for server in servers if server is not None)
            self._warm = (wall_s, so_far, ticks / TICKS_PER_S)

    def _spawn(self) -> int:
        order = self._order
        os.chdir(order.folder)
        write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        return os.posix_spawnp(
            order.argv[0],
            order.argv,
            {**os.environ, **order.environment},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, order.stdout, write, 0o644),
                (os.POSIX_SPAWN_OPEN, 2, order.stderr, write, 0o644),
            ],
            # Ours are blocked, to be heard in turn; the command is to start as from a shell.
            setsigmask=[],
            setsigdef=[signal.SIGPIPE],
        )

    def _end_all(self, now: float) -> None:
        for pid in self._tree.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, self._signal)
        self._signal = signal.SIGKILL
        self._end_at = now + KILL_AFTER_S


def main() -> None:
    """Carry out the order in the first argument."""
    given = json.loads(sys.argv[1])
    order = Order(**{**given, "argv": tuple(given["argv"]), "watched": tuple(given["watched"])})
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    kernel = ctypes.CDLL(None)
    kernel.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != order.parent:
        # It died before the kernel knew of the tie.
        sys.exit(1)
    kernel.prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        result = Reaper(order).run()
    except OSError as problem:
        sys.exit(f"{order.argv[0]} could not be run: {problem}")
    Path(order.result).write_text(json.dumps(asdict(result)), encoding="utf-8")


if __name__ == "__main__":
    main()
