"""A router as a process of its own, the events that it is given, and what it left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import psutil

from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.config.workspace.workspace import Cluster

ROUTER = Path(sys.executable).parent / "router"
# The JVM hears of its driver's end by itself, and its workers by the JVM's.
ORPHANS_LIMIT_S = 60.0


class RouterProcess:
    """`router start`, its words in a file."""

    def __init__(self, path: Path, *more: str) -> None:
        self._said = path.with_name(f"said-{path.stem}-{len(list(path.parent.iterdir()))}.log")
        command = [str(ROUTER), "start", "-c", str(path), "--format", "json", *more]
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                command,
                cwd=path.parent,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                # As from a terminal: Ctrl-C goes to its group, and to no one else's.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def said(self) -> str:
        return " ".join(self._said.read_text().split())

    def batches(self) -> int:
        return self._said.read_text().count("batch routed")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for something that it has to do while it runs."""
        assert wait_until(lambda: condition() or self.ended(), LIMIT_S), self.said
        assert condition(), self.said

    def end(self, limit_s: float = LIMIT_S) -> tuple[int, str]:
        """Wait for its end; returns exit code and stdout."""
        answer, _ = self.process.communicate(timeout=limit_s)
        return self.process.returncode, answer

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        return self.end()

    def kill(self) -> list[psutil.Process]:
        """End it as a crash would, without a word to its JVM; returns what it had started."""
        started = started_by(self)
        self.process.kill()
        self.end()
        return started


class Routers:
    """Starts routers; what a test leaves running is ended."""

    def __init__(self) -> None:
        self._started: list[RouterProcess] = []

    def __enter__(self) -> Routers:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._started:
            if not one.ended():
                one.kill()

    def start(self, path: Path, *more: str) -> RouterProcess:
        """Start a router."""
        self._started.append(RouterProcess(path, *more))
        return self._started[-1]


def workers(router: RouterProcess) -> list[psutil.Process]:
    """Return the Python processes that do its tasks."""
    found = []
    for one in started_by(router):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "pyspark.worker" in one.cmdline():
                found.append(one)
    return found


class Started(Protocol):
    """A command in a session of its own."""

    @property
    def pid(self) -> int: ...


def started_by(router: Started) -> list[psutil.Process]:
    """Return the processes of its session: also those whose parent was killed, and that work on."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(one.pid) == router.pid != one.pid:
                found.append(one)
    return found


def are_gone(processes: Sequence[psutil.Process]) -> bool:
    """Whether none of them is left within the limit."""
    return wait_until(lambda: not any(map(lives, processes)), ORPHANS_LIMIT_S)


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@dataclass
class Traffic:
    """Sends records from a thread, so many at a time, and no more than it was allowed to."""

    cluster: Cluster
    topic: str
    value: Callable[[int], bytes | None]
    number: int
    at_once: int
    pause_s: float
    allowed: int = 0
    sent: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Traffic:
        self._thread = threading.Thread(target=self._send)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.join()

    def allow(self, more: int) -> None:
        """Let so many more be sent."""
        self.allowed = min(self.number, self.allowed + more)

    def rests(self) -> bool:
        """Whether all are sent that it may send."""
        return self.sent >= self.allowed

    def join(self) -> None:
        """Wait until all are sent, and acknowledged."""
        self.allowed = self.number
        assert self._thread is not None
        self._thread.join(10 * LIMIT_S)
        assert not self._thread.is_alive()

    def record(self, number: int) -> KafkaRecord:
        """Return the record of that number."""
        return KafkaRecord(self.value(number))

    def _send(self) -> None:
        sender = Sender(self.cluster, self.topic)
        while self.sent < self.number and not self._stop.is_set():
            following = range(self.sent, min(self.allowed, self.sent + self.at_once))
            for one in following:
                sender.send(self.record(one))
            self.sent = following.stop
            self._stop.wait(self.pause_s)
        assert sender.close() == self.sent


@dataclass(frozen=True)
class LedgerSums:
    """A ledger's sums, read without the router's code; `places` says from where to where."""

    read: int
    written: int
    filtered: int
    dropped: int
    quarantined: int
    lost: int
    absent: int
    places: dict[int, range]


def ledger_sums(cluster: Cluster, stream: str, member: str) -> LedgerSums:
    """Add up a ledger; every record has to add up, and to begin where the last one ended."""
    last: dict[int, dict[str, Any]] = {}
    for message in KafkaCluster(cluster).records(f"headrace.{stream}.ledger"):
        key = json.loads(message.key() or b"")
        if key[0] != "place" or not key[1].startswith(f"{member} > "):
            continue
        place = json.loads(message.value() or b"")
        before = last.get(key[3])
        if before is not None:
            assert before["to"] == place["from"], place
        last[key[3]] = place
    sums = dict.fromkeys(("read", "written", "filtered", "dropped", "quarantined", "lost"), 0)
    places: dict[int, range] = {}
    for number, place in last.items():
        stretches = [*place["before"], place]
        places[number] = range(stretches[0]["from"], place["to"])
        for one, following in pairwise(stretches):
            assert one["to"] == following["from"], place
        for one in stretches:
            dropped = sum(one["dropped"].values())
            gone = one["written"] + one["filtered"] + dropped + one["quarantined"]
            assert one["read"] == gone, place
            for name in ("read", "written", "filtered", "quarantined"):
                sums[name] += one[name]
            sums["lost"] += one.get("lost", 0)
            sums["dropped"] += dropped
    width = sum(map(len, places.values()))
    return LedgerSums(**sums, absent=width - sums["read"] - sums["lost"], places=places)


def ids_of(cluster: Cluster, topic: str) -> np.ndarray:
    """Return the ids of all records of a topic that are JSON with one."""
    found: list[int] = []
    for message in KafkaCluster(cluster).records(topic):
        value = message.value() or b""
        if value.startswith(b'{"id": '):
            found.append(int(value[7 : value.index(b",")] if b"," in value else value[7:-1]))
        elif value.startswith(b'{"id":'):
            found.append(int(value[6 : value.index(b",")] if b"," in value else value[6:-1]))
    return np.array(found, dtype=np.int64)
