"""Commands over a workspace whose Spark is a cluster, and what they left in tables."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from headrace.embedded.process import wait_until
from headrace.errors import TableMissing
from headrace.iceberg.catalog import table_loader
from tests.end_to_end.commands import BIN
from tests.limits import LIMIT_S, LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

# An application with state: a window of a second, which has a thousand events.
APP: Final[dict[str, Any]] = {
    "kind": "app",
    "transform": {
        "sql": "SELECT window(at, '1 second').start AS second, count(*) AS events, "
        "sum(id) AS ids FROM live GROUP BY window(at, '1 second')"
    },
    "watermarks": {"live": {"column": "at", "delay": "0s"}},
}


class Command:
    """A lasting command of ours, its words in a file. Used by `with`."""

    def __init__(self, root: Path, *words: str) -> None:
        self._log = root / f"said-{len(list(root.iterdir()))}.log"
        with self._log.open("w") as said:
            self.process = subprocess.Popen(
                [str(BIN / words[0]), *words[1:]],
                cwd=root,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(LIMIT_S)

    @property
    def said(self) -> str:
        return self._log.read_text()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for something that comes about while it runs."""
        ended = self.process.poll
        assert wait_until(lambda: condition() or ended() is not None, LONG_LIMIT_S), self.said
        assert ended() is None, self.said

    def stop(self) -> None:
        """Let it drain."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(LIMIT_S) == 0, self.said


def rows_in_table(workspace: Workspace, name: str) -> int:
    try:
        return len(table_loader(workspace, f"lake.tv.{name}")().scan().to_arrow())
    except TableMissing:
        return 0


def ids_in_table(workspace: Workspace, name: str) -> np.ndarray:
    """Return the ids of all rows in order; none where the table is not there yet."""
    try:
        table = table_loader(workspace, f"lake.tv.{name}")()
    except TableMissing:
        return np.empty(0, np.int64)
    return np.sort(table.scan(selected_fields=("id",)).to_arrow()["id"].to_numpy())


def windows_in(workspace: Workspace, name: str) -> list[dict[str, int]]:
    table = table_loader(workspace, f"lake.tv.{name}")().scan().to_arrow()
    return sorted(table.select(["events", "ids"]).to_pylist(), key=lambda row: row["ids"])


def whole_windows(events: int) -> list[dict[str, int]]:
    """Return the windows that all events up to there have ended; the last one is open."""
    firsts = range(0, events - 1000, 1000)
    return [{"events": 1000, "ids": sum(range(first, first + 1000))} for first in firsts]
