"""A Kafka Connect worker that lives as long as its one connector has work."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

START_LIMIT_S = 120.0
ANSWER_LIMIT_S = 30.0
LOOK_EVERY_S = 0.1
# To ask for the state costs the worker more than to look at what it wrote.
ASK_EVERY_S = 2.0
LAST_LINES = 6


class Worker:
    """A worker that was started with its settings, and is killed at the end of `with`."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._address: str = settings["address"]
        self._log = Path(settings["log"])
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(settings["argv"], stdout=log, stderr=log)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # All is written and was seen: what a worker does when it ends in order is no work of ours.
        self._process.kill()
        self._process.wait()

    def wait_until_ready(self) -> None:
        """Wait until the worker takes connectors."""
        deadline = time.monotonic() + START_LIMIT_S
        while not self._is_healthy():
            self.require_alive()
            if time.monotonic() > deadline:
                sys.exit(f"the worker did not answer within {START_LIMIT_S:.0f} s")
            time.sleep(LOOK_EVERY_S)

    def create(self, connector: dict[str, Any]) -> None:
        """Have it run a connector."""
        try:
            self._ask("/connectors", connector)
        except urllib.error.HTTPError as refusal:
            sys.exit(f"the connector was refused: {refusal.read().decode(errors='replace')}")

    def delete(self, name: str) -> None:
        """Have it run a connector no more."""
        self._ask(f"/connectors/{name}", method="DELETE")

    def require_alive(self) -> None:
        """End with the worker's last words, if it has ended."""
        if self._process.poll() is not None:
            said = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
            sys.exit("\n".join(["the worker ended:", *said[-LAST_LINES:]]))

    def require_running(self, name: str) -> None:
        """End with the reason, if the connector or a task of it has failed."""
        try:
            status = self._ask(f"/connectors/{name}/status")
        except urllib.error.HTTPError:
            # It was made a moment ago, and is not known everywhere yet.
            return
        for part in (status["connector"], *status["tasks"]):
            if part["state"] == "FAILED":
                sys.exit(f"the connector failed: {part.get('trace', 'it does not say why')}")

    def _is_healthy(self) -> bool:
        try:
            self._ask("/health")
        except OSError:
            return False
        return True

    def _ask(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:  # noqa: ANN401 - JSON
        request = urllib.request.Request(  # noqa: S310 - the loopback's own address
            self._address + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=ANSWER_LIMIT_S) as answer:  # noqa: S310 - as above
            text = answer.read()
        return json.loads(text) if text else None


def run(watch: Callable[[dict[str, Any]], Callable[[], int]]) -> None:
    """Run a connector until it has done all rows; print the rows and the time it took.

    `watch` returns what tells how many rows are done.
    """
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with Worker(settings) as worker:
        watch(settings)()
        worker.wait_until_ready()
        before = settings["before"]
        if before is not None:
            _done(worker, before, watch(before))
            worker.delete(before["connector"]["name"])
        Path(settings["ready"]).write_text("ready\n", encoding="utf-8")
        begun = time.monotonic()
        rows = _done(worker, settings, watch(settings))
        work_s = time.monotonic() - begun
    print(json.dumps({"rows": rows, "work_s": work_s}))


def _done(worker: Worker, task: dict[str, Any], done: Callable[[], int]) -> int:
    """Run a connector until so many rows are done as were asked for; return how many are."""
    asked = time.monotonic()
    worker.create(task["connector"])
    while (rows := done()) < task["rows"]:
        worker.require_alive()
        if time.monotonic() - asked > ASK_EVERY_S:
            asked = time.monotonic()
            worker.require_running(task["connector"]["name"])
        time.sleep(LOOK_EVERY_S)
    return rows
