"""What a tree of processes takes: CPU time, memory (PSS), threads."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used between two looks, in percent of a core, and what is held at the second."""

    percent: float
    parts: dict[str, float]
    broker_percent: float
    pss_mb: float
    parts_mb: dict[str, float]
    threads: int
    took_s: float

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU, the broker's included."""
        return (self.percent + self.broker_percent) * self.took_s / 100

    def __str__(self) -> str:
        parts = ", ".join(
            f"{name} {value:.1f} % {self.parts_mb.get(name, 0):.0f} MB"
            for name, value in sorted(self.parts.items())
        )
        return (
            f"{self.percent:.1f} % of a core, {self.pss_mb:.0f} MB, {self.threads} threads ({parts});"
            f" broker {self.broker_percent:.1f} %"
        )


class Meter:
    """Looks at `headrace up` and at the broker."""

    def __init__(self, pid: int, broker_pid: int) -> None:
        self._top = psutil.Process(pid)
        self._broker = psutil.Process(broker_pid)
        self._before: dict[int, float] = {}
        self.start()

    def start(self) -> None:
        """Begin here."""
        self._began_s = time.monotonic()
        self._before = {one.pid: _cpu_s(one) for one in self._tree()}
        self._broker_s = _cpu_s(self._broker)

    def read(self) -> Usage:
        """Return what has been used since the start."""
        took_s = time.monotonic() - self._began_s
        parts: dict[str, float] = {}
        parts_mb: dict[str, float] = {}
        threads = 0
        for one in self._tree():
            with contextlib.suppress(psutil.Error, OSError):
                name = self._name(one)
                used = _cpu_s(one) - self._before.get(one.pid, 0.0)
                parts[name] = parts.get(name, 0.0) + 100 * used / took_s
                parts_mb[name] = parts_mb.get(name, 0.0) + pss_mb(one.pid)
                threads += one.num_threads()
        broker = 100 * (_cpu_s(self._broker) - self._broker_s) / took_s
        total = sum(parts.values())
        return Usage(total, parts, broker, sum(parts_mb.values()), parts_mb, threads, took_s)

    def _tree(self) -> list[psutil.Process]:
        return [self._top, *self._top.children(recursive=True)]

    def _name(self, one: psutil.Process) -> str:
        if one.pid == self._top.pid:
            return "driver"
        return "JVM" if "java" in one.name() else "workers"


def pss_mb(pid: int) -> float:
    """Return a process's memory, its share of what it has in common with others."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    line = next(one for one in text.splitlines() if one.startswith("Pss:"))
    return int(line.split()[1]) / 1024


def _cpu_s(one: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        used = one.cpu_times()
        return float(used.user + used.system)
    return 0.0
