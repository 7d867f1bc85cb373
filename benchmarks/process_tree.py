"""The CPU time and memory of a tree of processes, also of those whose parents never wait for them.

A process's time is added to its parent's when the parent waits for it. A parent that ignores
SIGCHLD, as PySpark's daemon of Python workers does, never waits: that time would be lost. So
the tree is looked at while it runs, and what such a process was last seen with is kept.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SIGCHLD_BIT = 1 << (signal.SIGCHLD - 1)


@dataclass(frozen=True, slots=True)
class Seen:
    """A process as it was at the last look."""

    pid: int
    parent: int
    started_ticks: int
    # Its own time and that of the children it waited for.
    cpu_ticks: int
    ignores_children: bool
    rss_bytes: int = 0


class ProcessTree:
    """All descendants of one process, as far as they were there at a look."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._seen: dict[int, Seen] = {}
        self._strangers: set[int] = set()
        self._waited: set[int] = set()
        self.lost_ticks = 0

    @property
    def lost_s(self) -> float:
        """Seconds of ended processes that no parent's account holds."""
        return self.lost_ticks / TICKS_PER_S

    @property
    def running_s(self) -> float:
        """Seconds of the processes that were there at the last look."""
        return sum(process.cpu_ticks for process in self._seen.values()) / TICKS_PER_S

    @property
    def rss_bytes(self) -> int:
        """What they held in memory at the last look; what they share counts for each."""
        return sum(process.rss_bytes for process in self._seen.values())

    @property
    def pids(self) -> Collection[int]:
        """The descendants at the last look."""
        return tuple(self._seen)

    def waited_for(self, pid: int) -> None:
        """Say that the root itself has waited for a process: the kernel has counted it."""
        self._waited.add(pid)

    def look(self) -> None:
        """Take in who is there, and settle the account of who has gone."""
        there = {int(entry.name) for entry in os.scandir(PROC) if entry.name.isdecimal()}
        self._strangers &= there
        before, now = self._seen, {}
        for pid in there - self._strangers:
            process = read(pid)
            if process is not None:
                now[pid] = process
        ours = self._descendants(now)
        self._strangers |= set(now) - ours
        self._seen = {pid: now[pid] for pid in ours}
        for process in before.values():
            still = self._seen.get(process.pid)
            if still is None or still.started_ticks != process.started_ticks:
                self._settle(process, before)
        self._waited.clear()

    def _descendants(self, there: dict[int, Seen]) -> set[int]:
        ours: set[int] = set()
        grown = True
        while grown:
            found = {
                pid
                for pid, process in there.items()
                if pid not in ours and (process.parent == self._root or process.parent in ours)
            }
            ours |= found
            grown = bool(found)
        return ours

    def _settle(self, gone: Seen, before: dict[int, Seen]) -> None:
        parent = before.get(gone.parent)
        if parent is not None and parent.ignores_children and gone.pid not in self._waited:
            self.lost_ticks += gone.cpu_ticks


def read(pid: int) -> Seen | None:
    """Read one process, None where it has just ended."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        status = (PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return parse(pid, stat, status)


def parse(pid: int, stat: str, status: str) -> Seen:
    """Read what the kernel says; a name in `stat` may hold spaces and brackets."""
    fields = stat[stat.rindex(")") + 2 :].split()
    ignored = next((line for line in status.splitlines() if line.startswith("SigIgn:")), "SigIgn:0")
    return Seen(
        pid=pid,
        parent=int(fields[1]),
        started_ticks=int(fields[19]),
        cpu_ticks=sum(int(ticks) for ticks in fields[11:15]),
        ignores_children=bool(int(ignored.split(":")[1], 16) & SIGCHLD_BIT),
        rss_bytes=int(fields[21]) * PAGE_BYTES,
    )
