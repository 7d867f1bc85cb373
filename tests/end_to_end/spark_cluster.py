"""A standalone Spark cluster whose JVMs are short-lived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.spark_workers import standalone
from tests.short_lived import JAVA_OPTIONS

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


def spark_cluster(folder: Path, workers: int) -> AbstractContextManager[str]:
    """Start a master and workers; they end with the test, however it ends."""
    return standalone(folder, workers, JAVA_OPTIONS)
