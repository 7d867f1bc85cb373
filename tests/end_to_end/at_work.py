"""A workspace and a command that runs over it, both as a user has them."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from tests.end_to_end.commands import BIN
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace


@dataclass
class AtWork:
    """A workspace in `root`, the command that runs over it, and what it says in `log`."""

    root: Path
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def workspace(self) -> Workspace:
        return load_workspace(self.root)

    @property
    def kafka(self) -> KafkaCluster:
        return KafkaCluster(self.workspace.cluster("fronting"))

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def said(self, words: str) -> bool:
        return words in self.log.read_text()

    @contextmanager
    def at_work(self, script: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command; it is killed, with its group, if it has not ended by then."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [str(BIN / script), *words],
                cwd=self.root,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.process = process
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for what comes while the command runs."""
        process = self.process
        assert process is not None
        came = wait_until(lambda: process.poll() is not None or condition(), LIMIT_S)
        assert came, self.log.read_text()[-6000:]
        assert process.poll() is None, f"{process.poll()}: {self.log.read_text()[-6000:]}"

    def end(self) -> None:
        """Ask the command to end, and wait until it has ended well."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(LIMIT_S) == 0, self.log.read_text()[-6000:]
