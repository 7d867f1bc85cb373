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
    # What was used is noted when a file has so many lines.
    marks: tuple[tuple[str, int], ...] = ()
    # Whether the command goes on for ever: it is ended, and has done its work, at the last mark.
    endless: bool = False
    # Servers that the command works with: what they have used by then is told, too.
    watched: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Used:
    """What had been used at a moment: by the command, and by the servers since they started."""

    wall_s: float
    cpu_s: float
    watched_cpu_s: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a command used. Wall time ends with the command, CPU time with its last process."""

    exit_code: int
    wall_s: float
    cpu_s: float
    # The part of it that was seen in /proc only, as no parent waited for the process.
    unwaited_cpu_s: float
    # The most that its processes held together at a look; what they share counts for each.
    peak_rss_bytes: int
    # None where it never came so far.
    marks: tuple[Used | None, ...]

    @staticmethod
    def parse(text: str) -> Result:
        """Read what `main` has written."""
        given = json.loads(text)
        marks = (None if mark is None else Used(**mark) for mark in given["marks"])
        return Result(**{**given, "marks": tuple(marks)})


class Reaper:
    """One command and all that comes of it."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._tree = ProcessTree(os.getpid())
        self._end_at: float | None = None
        self._signal = signal.SIGTERM
        self._marks: list[Used | None] = [None] * len(order.marks)
        self._peak_rss_bytes = 0

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
            self._peak_rss_bytes = max(self._peak_rss_bytes, self._tree.rss_bytes)
            self._look_for_marks(now - started)
            if self._order.endless and self._marks[-1] is not None:
                self._end_at = self._end_at or now
            if self._end_at is not None and now >= self._end_at:
                self._end_all(now)
        self._tree.look()
        lost_s = self._tree.lost_s
        last = self._marks[-1] if self._order.endless else None
        if last is not None:
            # How it ends when it is told to is no part of its work.
            wall_s, exit_code, cpu_s = last.wall_s, 0, last.cpu_s
        else:
            cpu_s = _waited_for_s() + lost_s
        return Result(exit_code, wall_s, cpu_s, lost_s, self._peak_rss_bytes, tuple(self._marks))

    def _look_for_marks(self, wall_s: float) -> None:
        for number, (file, lines) in enumerate(self._order.marks):
            if self._marks[number] is None and _lines(file) >= lines:
                self._marks[number] = self._used(wall_s)

    def _used(self, wall_s: float) -> Used:
        so_far = _waited_for_s() + self._tree.running_s + self._tree.lost_s
        servers = (read(pid) for pid in self._order.watched)
        ticks = sum(server.cpu_ticks for server in servers if server is not None)
        return Used(wall_s, so_far, ticks / TICKS_PER_S)

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


def _waited_for_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _lines(file: str) -> int:
    with suppress(OSError):
        return Path(file).read_bytes().count(b"\n")
    return 0


def main() -> None:
    """Carry out the order in the first argument."""
    given = json.loads(sys.argv[1])
    marks = tuple((file, lines) for file, lines in given["marks"])
    listed = {"argv": tuple(given["argv"]), "watched": tuple(given["watched"]), "marks": marks}
    order = Order(**{**given, **listed})
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
