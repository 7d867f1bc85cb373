"""A real Prometheus on this machine, with the alerts that are shipped."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.embedded.broker import free_port
from headrace.embedded.process import start_tethered, stop_child, wait_until
from tests.limits import LIMIT_S
from tests.programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

GRACE_S: Final = 10.0
CONFIG: Final = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: headrace
    static_configs: [{{targets: [{targets}]}}]
"""


@dataclass(frozen=True)
class Prometheus:
    """Asks a server by its HTTP API."""

    port: int

    def ask(self, path: str, **parameters: str) -> dict[str, Any]:
        """Return the data of an answer; an error raises."""
        query = urllib.parse.urlencode(parameters)
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}"
        with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
            data: dict[str, Any] = json.load(answer)["data"]
        return data

    def values(self, expr: str) -> list[float]:
        """Return the values that an expression has now."""
        return [float(one["value"][1]) for one in self.ask("query", query=expr)["result"]]

    def targets(self) -> list[tuple[str, str]]:
        """Return how each target is, and what went wrong with it last."""
        found = self.ask("targets", state="active")["activeTargets"]
        return [(one["health"], one["lastError"]) for one in found]

    def rules(self) -> dict[str, tuple[str, str]]:
        """Return how each rule is, and whether its alert fires."""
        groups = self.ask("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        return {one["name"]: (one["health"], one["state"]) for one in rules}


@contextmanager
def prometheus(folder: Path, rules: Path, ports: Sequence[int]) -> Iterator[Prometheus]:
    """Run a server that scrapes these ports each second."""
    binary = program("prometheus", "prometheus")
    folder.mkdir()
    targets = ", ".join(f'"127.0.0.1:{port}"' for port in ports)
    (folder / "prometheus.yml").write_text(CONFIG.format(rules=rules, targets=targets))
    server = Prometheus(free_port())
    command = [
        binary,
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{server.port}",
    ]
    log = folder / "log"
    child, _ = start_tethered(command, log, {"GOMAXPROCS": "1"})

    def answers() -> bool:
        assert child.poll() is None, log.read_text()
        try:
            return bool(server.ask("status/buildinfo")["version"])
        except OSError:
            return False

    try:
        assert wait_until(answers, LIMIT_S), log.read_text()
        yield server
    finally:
        stop_child(child, GRACE_S)
