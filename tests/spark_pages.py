"""What Spark says of its executors and tasks, on the pages of a driver that shows them."""

from __future__ import annotations

import contextlib
import json
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class SparkTask:
    """One try of a task, and the stage that it belongs to."""

    stage: int
    stage_attempt: int
    number: int


@dataclass(frozen=True, slots=True)
class SparkPages:
    """The pages of a driver. One that does not run, or has only just begun, shows nothing."""

    address: str
    port: int

    @property
    def conf(self) -> str:
        """What `spark.conf` says for a driver to have them, an entry a line."""
        return f'spark.ui.enabled: "true"\n    spark.ui.port: "{self.port}"'

    def running_on(self, host: str) -> Iterator[SparkTask]:
        """Yield the tasks that Spark waits for, of a host."""
        for stage in self._asked("stages?status=active"):
            number, attempt = stage["stageId"], stage["attemptId"]
            for task in self._asked(f"stages/{number}/{attempt}/taskList?status=running"):
                if task["host"] == host:
                    yield SparkTask(number, attempt, task["taskId"])

    def status_of(self, task: SparkTask) -> tuple[str, str]:
        """Return what became of a task, and why."""
        listed = f"stages/{task.stage}/{task.stage_attempt}/taskList?length=1000"
        (found,) = [one for one in self._asked(listed) if one["taskId"] == task.number]
        return found["status"], found.get("errorMessage", "")

    def _asked(self, what: str) -> list[dict[str, Any]]:
        there = f"http://{self.address}:{self.port}/api/v1/applications"
        with contextlib.suppress(OSError, ValueError):
            (application, *_) = _answer(there)
            return _answer(f"{there}/{application['id']}/{what}")
        return []


def _answer(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:  # noqa: S310 - our own address
        found: list[dict[str, Any]] = json.load(answer)
        return found
