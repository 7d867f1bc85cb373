"""Work for Spark's tasks: spread over them, and run by them."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

W = TypeVar("W")
R = TypeVar("R")
# How often Spark is asked: executors come and go by the second at most.
ASK_EVERY_S: Final = 1.0


class TaskSlots:
    """How many tasks a session runs at a time: on a cluster, the cores of its executors by now."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._found = 1
        self._asked_at_s = float("-inf")

    def __call__(self) -> int:
        """Return how many; a Spark that does not answer any more has as many as before."""
        if time.monotonic() - self._asked_at_s >= ASK_EVERY_S:
            with contextlib.suppress(Exception):
                self._found = max(1, self._context.defaultParallelism)
            self._asked_at_s = time.monotonic()
        return self._found


def run_tasks(spark: SparkSession, do: Callable[[W], R], works: Sequence[W]) -> list[R]:
    """Run a task for each piece of work; return what they answer, in that order.

    The work travels within the function. Spark writes what it is given as data to a temporary
    file, and with it the passwords of clusters and registries.
    """
    count = len(works)
    numbers = spark.sparkContext.parallelize(range(count), count)
    done: list[R] = numbers.map(lambda number: do(works[number])).collect()
    return done


def spread(heaviest_first: Sequence[W], tasks: int, weight: Callable[[W], int]) -> list[list[W]]:
    """Spread work over tasks, each piece whole, so that each has about as much; none is empty."""
    parts: list[list[W]] = [[] for _ in range(min(tasks, len(heaviest_first)))]
    loads = [0] * len(parts)
    for one in heaviest_first:
        lightest = loads.index(min(loads))
        parts[lightest].append(one)
        loads[lightest] += weight(one)
    return parts
