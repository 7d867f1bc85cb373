"""How many records a batch takes: about as many as are done within the time of a trigger."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from datetime import timedelta

# Nothing is known yet; few, so that the first output is there soon.
FIRST: Final = 100_000
FEWEST: Final = 1_000
# A drain waits for the batch at hand, and after a crash it is done again.
SHORTEST_S: Final = 1.0
LONGEST_S: Final = 10.0
# What ends by itself has no trigger, and nobody who waits for its batches.
ONCE_S: Final = 5.0
# One slow or quick batch says little of the next.
MOST_CHANGE: Final = 4
MOST_BYTES: Final = 2**30


@dataclass(slots=True)
class Pace:
    """What a job learns from its batches; `aim_s` is how long one is to take."""

    aim_s: float
    records: int = FIRST
    # What others of its line leave it: they wait for its batches.
    most_s: float = LONGEST_S
    _in_batch: int = field(default=0, init=False)
    _is_full: bool = field(default=False, init=False)
    _began_s: float = field(default=0.0, init=False)

    @classmethod
    def of(cls, interval: timedelta | None, *, once: bool) -> Self:
        """Return the pace of a job with this trigger."""
        if once:
            return cls(ONCE_S)
        wanted_s = 0.0 if interval is None else interval.total_seconds()
        return cls(min(max(wanted_s, SHORTEST_S), LONGEST_S))

    def begin(self, records: int, *, is_full: bool) -> None:
        """Begin a batch; one that takes all there is says nothing of how much fits."""
        self._in_batch, self._is_full, self._began_s = records, is_full, time.monotonic()

    def end(self, size_bytes: int) -> float:
        """Learn from the batch that has ended; return how long it took."""
        took_s = time.monotonic() - self._began_s
        self.learn(took_s, size_bytes)
        return took_s

    def learn(self, took_s: float, size_bytes: int) -> None:
        """Set how many records the next batch takes."""
        found, done = self.records, self._in_batch
        if self._is_full:
            aim_s = min(self.aim_s, max(self.most_s, SHORTEST_S))
            wanted = int(done * aim_s / max(took_s, 0.001))
            found = max(done // MOST_CHANGE, min(wanted, done * MOST_CHANGE))
        if size_bytes > 0:
            found = min(found, done * MOST_BYTES // size_bytes)
        self.records = max(FEWEST, found)

    def slower(self) -> None:
        """Take less after a failure: the batch may have been more than its cluster takes in time."""
        self.records = max(FEWEST, self.records // MOST_CHANGE)
