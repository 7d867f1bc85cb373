"""One owner at a time for state that several hosts reach. An owner that stops renewing loses it.

A claim is a file with a number, which only one host can create. The highest number holds. Its owner
renews it by writing a file beside it. Who takes over from a dead owner creates the next number. If the
dead owner wakes up, it finds that number and stops.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import threading
import time
from typing import TYPE_CHECKING, Final, Self
from uuid import uuid4

import structlog

from headrace.errors import Terminal
from headrace.locks import AlreadyRunning

if TYPE_CHECKING:
    from types import TracebackType

    from headrace.queries.hadoop_path import HadoopPath

BEAT_EVERY_S: Final = 5.0
# An owner that has not renewed for so long counts as dead. An owner that cannot renew gives up well
# before that.
DEAD_AFTER_S: Final = 30.0
GIVES_UP_AFTER_S: Final = 20.0
CLAIM: Final = "claim-"
ALIVE: Final = "alive-"
PROBE: Final = "probe-"
log = structlog.get_logger(__name__)


class LeaseLost(Terminal):
    """Another host holds the state now, or may hold it."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"{what} has stopped: {why}",
            "what it had not committed is done by whoever runs it now; run it on one host only",
        )


class Lease:
    """Holds a folder for as long as it is entered; `home` is known only to this host's own state."""

    def __init__(self, folder: HadoopPath, what: str, home: str) -> None:
        self._folder = folder
        self._what = what
        self._home = home
        self._session = uuid4().hex
        self._number = 0
        self._heard_at_s = 0.0
        self._lost: str | None = None
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        held = self._claims()
        self._number = held[-1] + 1 if held else 1
        for number in held:
            self._refuse_living(number)
        owner = {
            "host": platform.node(),
            "pid": os.getpid(),
            "home": self._home,
            "session": self._session,
        }
        if not self._claim(self._number).create(json.dumps(owner).encode()):
            raise AlreadyRunning(self._what, "another host was quicker", "stop that one first")
        self._beat()
        for number in held:
            self._remove(number)
        threading.Thread(target=self._live, name="lease", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        with contextlib.suppress(Exception):
            # Its file system, or the JVM, may be gone: then it is found silent.
            self._remove(self._number)

    @property
    def lost(self) -> str | None:
        """Why it is not held any more; None as long as it is."""
        silent_s = time.monotonic() - self._heard_at_s
        if self._lost is None and silent_s > GIVES_UP_AFTER_S:
            self._lost = f"it could not say for {silent_s:.0f} s that it runs, at {self._folder}"
        return self._lost

    def require(self) -> None:
        """Raise LeaseLost if another host may hold the state."""
        why = self.lost
        if why is not None:
            raise LeaseLost(self._what, why)

    def _claim(self, number: int) -> HadoopPath:
        return self._folder / f"{CLAIM}{number:012d}"

    def _alive(self, number: int) -> HadoopPath:
        return self._folder / f"{ALIVE}{number:012d}"

    def _claims(self) -> list[int]:
        return sorted(
            int(one.name.removeprefix(CLAIM)) for one in self._folder.glob(f"{CLAIM}[0-9]*")
        )

    def _refuse_living(self, number: int) -> None:
        """Refuse an owner that was heard of; one of this very state had our lock, so it is dead."""
        owner = self._owner(number)
        if owner.get("home") == self._home:
            return
        silent_s = self._silent_s(number)
        if silent_s < DEAD_AFTER_S:
            who = f"host {owner.get('host', 'unknown')}, pid {owner.get('pid', 'unknown')}"
            raise AlreadyRunning(
                self._what,
                f"{who}, heard of {silent_s:.0f} s ago",
                f"stop that one first; if it was killed, try again {DEAD_AFTER_S:.0f} s later",
            )

    def _owner(self, number: int) -> dict[str, object]:
        """Return who made a claim; nobody where it is just being written, or was never finished."""
        with contextlib.suppress(ValueError):
            found = json.loads(self._claim(number).read_bytes())
            if isinstance(found, dict):
                return found
        return {}

    def _silent_s(self, number: int) -> float:
        """Return how long ago an owner renewed, by the clock of the file system."""
        probe = self._folder / f"{PROBE}{self._session}"
        probe.write(b"")
        now_ms = probe.modified_ms()
        probe.unlink()
        sign = self._alive(number)
        sign = sign if sign.exists() else self._claim(number)
        return max(0.0, (now_ms - sign.modified_ms()) / 1000)

    def _beat(self) -> None:
        began_s = time.monotonic()
        self._alive(self._number).write(self._session.encode())
        self._heard_at_s = began_s

    def _live(self) -> None:
        while not self._ended.wait(BEAT_EVERY_S):
            try:
                newest = (self._claims() or [0])[-1]
                # Numbers begin anew where nobody held it in between.
                if newest == 0 or self._owner(newest).get("session") != self._session:
                    self._lost = "another host has taken it over"
                    return
                self._beat()
            except Exception as problem:  # noqa: BLE001 - py4j's, and any of a file system's
                log.warning(
                    "the lease could not be renewed",
                    lease=str(self._folder),
                    problem=str(problem).partition("\n")[0],
                )

    def _remove(self, number: int) -> None:
        self._alive(number).unlink()
        self._claim(number).unlink()
