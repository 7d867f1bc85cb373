"""How long something takes, counted in buckets."""

from __future__ import annotations

import time
from bisect import bisect_left
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# A trigger is between one second and minutes; a batch of a quiet stream is a fraction of a second.
BOUNDS_S: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Durations:
    """A histogram. One thread observes, others may read it: what they see is one batch old at most."""

    __slots__ = ("in_buckets", "sum_s")

    def __init__(self) -> None:
        # The last bucket has no bound.
        self.in_buckets = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def observe(self, took_s: float) -> None:
        """Count one."""
        self.in_buckets[bisect_left(BOUNDS_S, took_s)] += 1
        self.sum_s += took_s

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count how long a block takes that does not fail."""
        began_s = time.monotonic()
        yield
        self.observe(time.monotonic() - began_s)
