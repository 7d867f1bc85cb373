"""What runs in a process of its own: an application, or a stream with Spark settings of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import structlog

from fleet.run_state import JobProblem
from headrace.retries import pause_s

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from fleet.follow import Key

FIRST_PAUSE_S: Final = 1.0
# Who ran for so long has a failure of today, and no one that repeats itself.
RAN_WELL_S: Final = 60.0
# A wrong use and a broken file stay what they are until somebody changes the file.
UNCHANGING: Final = {2, 78}
FINAL_KINDS: Final = {"TakenOver"}
log = structlog.get_logger(__name__)


class ProcessUnit:
    """A command of `headrace`, started again when it fails, later each time.

    The thread that calls `look` has to be one that stays: the process ends with it.
    """

    def __init__(self, key: Key, command: Sequence[str], output: Path) -> None:
        self.key = key
        self._command = command
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self._failures = 0
        self._started_s = 0.0
        self._due_at_s = float("-inf")
        self._problem: str | None = None
        self._leaves = False

    @property
    def problems(self) -> list[JobProblem]:
        """Why it does not run."""
        if self._problem is None:
            return []
        return [JobProblem(*self.key, None, self._problem)]

    @property
    def is_at_work(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._problem is None and not self._leaves

    @property
    def has_left(self) -> bool:
        """Whether its process has ended for good."""
        return self._leaves and (self._process is None or self._process.poll() is not None)

    def leave(self) -> None:
        """Let the process finish what is at hand, and end."""
        if not self._leaves and self._process is not None:
            self._process.terminate()
        self._leaves = True

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def look(self, _spark: SparkSession) -> None:
        """Start it, or start it again when it is due."""
        if self._leaves:
            return
        if self._process is None:
            if time.monotonic() >= self._due_at_s:
                self._start()
            return
        code = self._process.poll()
        if code is not None:
            self._ended(code)
        elif time.monotonic() - self._started_s >= RAN_WELL_S:
            self._failures, self._problem = 0, None

    def _start(self) -> None:
        self._started_s = time.monotonic()
        tether = [sys.executable, "-m", "headrace.embedded.tether", str(os.getpid())]
        self._output.parent.mkdir(parents=True, exist_ok=True)
        with self._output.open("wb") as output:
            # A session of its own: Ctrl-C in the terminal is ours to hear, and to pass on in order.
            self._process = subprocess.Popen(
                [*tether, sys.executable, "-m", "headrace.cli.main", *self._command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                start_new_session=True,
            )

    def _ended(self, code: int) -> None:
        kind, said = error_in(self._output)
        self._process = None
        self._problem = said or f"its process ended with exit code {code}"
        name = self.key[1]
        if code in UNCHANGING or kind in FINAL_KINDS:
            self._due_at_s = float("inf")
            log.error("a process has ended", job=name, reason=self._problem)
            return
        self._failures += 1
        wait_s = pause_s(self._failures, FIRST_PAUSE_S)
        self._due_at_s = time.monotonic() + wait_s
        in_s = round(wait_s, 1)
        log.warning("a process is started again", job=name, in_s=in_s, reason=self._problem)


def error_in(output: Path) -> tuple[str, str]:
    """Return the kind and the sentence of the error that a command printed as JSON."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        error = json.loads(output.read_text(encoding="utf-8").splitlines()[-1])["error"]
        for one in error.get("problems", ())[:1]:
            where = f"{one['file']}:{one['line']}:{one['column']}"
            return "", f"{where}: {one['message']}"
        return str(error.get("kind", "")), str(error["message"])
    return "", ""
