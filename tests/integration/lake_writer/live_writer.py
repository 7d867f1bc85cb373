"""A lake writer that runs in a thread while a test does something to its schema, topic or table."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

from headrace.config.load import load_lake_table
from headrace.embedded.process import wait_until
from headrace.signals import Drain
from lake_writer.writer import LakeWriter, Landed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.pipelines import Pipelines

LIMIT_S = 90.0


class LiveWriter:
    """A table's writer under way."""

    def __init__(self, pipelines: Pipelines, spark: SparkSession, path: Path, drain: Drain) -> None:
        writer = LakeWriter(pipelines.workspace, load_lake_table(path, pipelines.workspace))
        writer.prepare()
        self.problem: Exception | None = None
        self.landed = Landed()

        def run() -> None:
            try:
                self.landed = writer.run(spark, drain, once=False)
            except Exception as problem:  # noqa: BLE001 - told to the thread that waits
                self.problem = problem

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> None:
        """Wait for its end, and raise why; once."""
        self._thread.join(LIMIT_S)
        assert self.ended()
        problem, self.problem = self.problem, None
        if problem is not None:
            raise problem


@contextlib.contextmanager
def live(pipelines: Pipelines, spark: SparkSession, path: Path) -> Iterator[LiveWriter]:
    """Land a topic until the end of the block, then drain."""
    with Drain() as drain:
        running = LiveWriter(pipelines, spark, path, drain)
        try:
            yield running
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            assert wait_until(running.ended, LIMIT_S)
    running.end()
