"""Commands that serve HTTP, and a client of them."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prometheus_client.parser import text_string_to_metric_families

from headrace.embedded.process import wait_until
from tests.end_to_end.commands import BIN
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Key = tuple[str, str]


def port_in(log: str) -> int | None:
    """Return the port that a command says in its log it serves at."""
    found = re.findall(r"http://127\.0\.0\.1:(\d+)", log)
    return int(found[0]) if found else None


@dataclass
class Client:
    """Asks a command at its port."""

    port: int

    def get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def rows(self, kind: str) -> list[dict[str, Any]]:
        status, body = self.get(f"/api/v1/{kind}")
        assert status == 200
        found: list[dict[str, Any]] = json.loads(body)
        return found

    def metrics(self) -> dict[Key, float]:
        """Return values by the metric's name and the value of its last label."""
        return {
            (one.name, list(one.labels.values())[-1]): one.value
            for family in text_string_to_metric_families(self.get("/metrics")[1])
            for one in family.samples
        }

    def not_ready(self) -> set[tuple[str, str | None]]:
        status, body = self.get("/readyz")
        said = json.loads(body)["not_ready"]
        assert (status == 503) == bool(said)
        assert all(one["problem"] for one in said)
        return {(one["name"], one["part"]) for one in said}


@dataclass
class Running(Client):
    """A command that serves HTTP."""

    process: subprocess.Popen[bytes]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_S)


@contextmanager
def running(root: Path, *command: str, port: int = 0) -> Iterator[Running]:
    log_file = root / f"{'-'.join(command[:2])}.log"
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            [
                str(BIN / command[0]),
                *command[1:],
                "--http",
                f"127.0.0.1:{port}",
                "--log-format",
                "json",
            ],
            cwd=root,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:

        def taken() -> int | None:
            assert process.poll() is None, log_file.read_text()
            return port_in(log_file.read_text())

        assert wait_until(lambda: taken() is not None, LIMIT_S)
        yield Running(taken() or 0, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
