"""An application over a hybrid source, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.pipelines import Pipelines

HEADRACE = Path(sys.executable).with_name("headrace")
# On a busy machine a start of Spark alone takes minutes.
PLACES = "SELECT id, __metadata__.partition AS part, __metadata__.offset AS place FROM events"


class HybridProcess:
    """An application over a topic and the table `lake.tv.<topic>`; it writes JSON Lines."""

    def __init__(
        self, pipelines: Pipelines, topic: str, query: str, threshold: str, *, order: str, name: str
    ) -> None:
        self.name, self.root = name, pipelines.workspace.root
        self.file = f"apps/{name}.yaml"
        self._counted: dict[Path, tuple[int, int]] = {}
        live = {"type": "kafka", "cluster": "fronting", "topics": topic, "format": "json"}
        past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": topic}
        sources = {
            "events": {"type": "hybrid", "past": "past", "live": "live", "order": order},
            "live": {**live, "schema": f"schemas/{topic}.avsc"},
            "past": {**past, "max_misalignment_threshold": threshold},
        }
        app = {"kind": "app", "name": name, "sources": sources, "transform": {"sql": query}}
        app |= {"watermarks": {"events": {"column": "at", "delay": "10s"}}}
        sink = {"type": "jsonl", "path": f"out/{name}"}
        pipelines.write(self.file, {**app, "sink": sink})

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run it for the length of the block; at its end it is killed with all it has started."""
        command = [str(HEADRACE), "run", "-c", self.file]
        with (self.root / f"{self.name}.log").open("ab") as said:
            process = subprocess.Popen(
                command, cwd=self.root, stdout=said, stderr=said, start_new_session=True
            )
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(LONG_LIMIT_S)

    def said(self) -> str:
        """Return the end of what it has told so far."""
        return (self.root / f"{self.name}.log").read_text()[-2000:]

    def lines(self) -> list[dict[str, int]]:
        """Return what came out, batch by batch."""
        return [
            json.loads(line) for path in self._files() for line in path.read_text().splitlines()
        ]

    def count(self) -> int:
        """Return how many lines came out. A repeated batch replaces its files."""
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                if self._counted.get(path, (0, 0))[0] != found.st_mtime_ns:
                    self._counted[path] = (found.st_mtime_ns, path.read_bytes().count(b"\n"))
        return sum(count for _, count in self._counted.values())

    def _files(self) -> list[Path]:
        return sorted((self.root / "out" / self.name).glob("*.jsonl"))
