"""The default sizes of a session: its driver's memory, and the partitions of its state."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import psutil

from headrace.jvm.cluster import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHUFFLE_PARTITIONS_ON_A_CLUSTER: Final = 16
SMALLEST_DRIVER_MB: Final = 1024
LARGEST_DRIVER_MB: Final = 4096


def shuffle_partitions(master: str) -> int:
    """Return how many shuffle partitions fit: stateful queries keep this number for ever."""
    if not is_local(master):
        return SHUFFLE_PARTITIONS_ON_A_CLUSTER
    asked = master.removeprefix("local").strip("[]").split(",")[0]
    return int(asked) if asked.isdigit() else (cores() if asked == "*" else 1)


def tasks_of(spark: SparkSession, master: str) -> int:
    """Return among how many tasks a batch is shared out that is planned for as long as it runs.

    Executors of a cluster may come later, so there are more than it has cores at its start.
    """
    if is_local(master):
        return cores()
    return max(SHUFFLE_PARTITIONS_ON_A_CLUSTER, int(spark.sparkContext.defaultParallelism))


def cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def driver_memory_mb() -> int:
    """Return a quarter of the machine, within reason: locally the driver does all the work."""
    quarter: int = psutil.virtual_memory().total // 4 // 2**20
    return max(SMALLEST_DRIVER_MB, min(LARGEST_DRIVER_MB, quarter))
