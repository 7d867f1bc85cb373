"""A workspace of many streams over one broker, and `headrace up` over it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.arena import console_script
from headrace.embedded.process import wait_until
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from pathlib import Path

START_LIMIT_S = 900.0
TOPICS_AT_ONCE = 200
SCHEMA = {"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}
HEADRACE_YAML = """\
clusters:
  here: {{bootstrap_servers: "{bootstrap}"}}
  nowhere: {{bootstrap_servers: "127.0.0.1:1"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}}
"""
STREAM = """\
kind: stream
name: {name}
source: {{type: kafka, cluster: here, topic: {name}.in, format: json, schema: ../event.avsc}}
hygiene: {{on_bad_record: drop}}
trigger: {trigger_s}s
outputs:
  - name: all
    project: [{columns}]
    sink: {{type: kafka, cluster: {target}, topic: {name}.out, format: json}}
"""


@dataclass
class Fleet:
    """The workspace's folder, its streams by number, and the broker behind them."""

    root: Path
    bootstrap_servers: str
    streams: int
    trigger_s: float
    partitions: int = 1

    @property
    def names(self) -> list[str]:
        """The names of its streams."""
        return [f"s{number:04}" for number in range(self.streams)]

    def make(self) -> None:
        """Write all files, and make all topics but the ledgers."""
        self.root.mkdir()
        text = HEADRACE_YAML.format(bootstrap=self.bootstrap_servers)
        (self.root / "headrace.yaml").write_text(text, encoding="utf-8")
        (self.root / "event.avsc").write_text(json.dumps(SCHEMA), encoding="utf-8")
        for name in self.names:
            self.write(name)
        self.make_topics(*self.names)

    def make_topics(self, *names: str) -> None:
        """Make what streams of these names read and write."""
        admin = AdminClient(quiet({"bootstrap.servers": self.bootstrap_servers}))
        topics = [f"{name}.{end}" for name in names for end in ("in", "out")]
        for begin in range(0, len(topics), TOPICS_AT_ONCE):
            some = topics[begin : begin + TOPICS_AT_ONCE]
            new = [NewTopic(one, self.partitions, 1) for one in some]
            for one in admin.create_topics(new, request_timeout=60).values():
                one.result()

    def write(self, name: str, columns: str = "id", target: str = "here") -> None:
        """Write a stream's file, as an editor does: whole or not at all."""
        folder = self.root / "streams"
        folder.mkdir(exist_ok=True)
        text = STREAM.format(name=name, trigger_s=self.trigger_s, columns=columns, target=target)
        (folder / f".{name}").write_text(text, encoding="utf-8")
        (folder / f".{name}").rename(folder / f"{name}.yaml")


class Up:
    """`headrace up`, from its start to its end; what it says is kept in a file."""

    def __init__(self, fleet: Fleet, said: Path) -> None:
        self._fleet = fleet
        self._said = said
        self._read_bytes = 0

    def __enter__(self) -> Self:
        self.began_s = time.monotonic()
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [console_script("headrace"), "up", "--log-format", "json"],
                cwd=self._fleet.root,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @property
    def pid(self) -> int:
        """Its process; others are below it."""
        return self._process.pid

    def ready(self) -> tuple[float, dict[str, Any]]:
        """Wait until all files are at work; return how long that took, and what it said."""
        facts = self.says("all files are at work")
        return time.monotonic() - self.began_s, facts

    def says(self, event: str) -> dict[str, Any]:
        """Wait until it says something."""
        found: list[dict[str, Any]] = []

        def is_said() -> bool:
            found.extend(one for one in self.said() if one.get("event") == event)
            return bool(found) or self._process.poll() is not None

        if not wait_until(is_said, START_LIMIT_S) or not found:
            message = f"headrace up did not say: {event}\n{self._said.read_text()[-2000:]}"
            raise SystemExit(message)
        return found[0]

    def said(self) -> list[dict[str, Any]]:
        """Return all that it has said so far."""
        lines = self._said.read_text(encoding="utf-8", errors="replace").splitlines()
        found = []
        for line in lines:
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> float:
        """Let it end in order; return how long that took."""
        began_s = time.monotonic()
        self._process.terminate()
        code = self._process.wait(START_LIMIT_S)
        if code != 0:
            message = f"headrace up ended with {code}: {self._said.read_text()[-2000:]}"
            raise SystemExit(message)
        return time.monotonic() - began_s
