"""Measuring how far out of order a replay was, on the records themselves."""

from __future__ import annotations


class DisorderMeter:
    """The most by which a record lay behind one of an earlier step."""

    def __init__(self, newest_us: int | None = None, max_disorder_us: int = 0) -> None:
        self._newest_before_us: int | None = None
        self.newest_us = newest_us
        self.max_disorder_us = max_disorder_us

    def begin_step(self) -> None:
        """Count what was seen so far among the earlier steps."""
        self._newest_before_us = self.newest_us

    def see(self, oldest_us: int, newest_us: int) -> None:
        """Take in records of the step at hand, by the oldest and the newest of them."""
        if self._newest_before_us is not None:
            self.max_disorder_us = max(self.max_disorder_us, self._newest_before_us - oldest_us)
        self.newest_us = newest_us if self.newest_us is None else max(self.newest_us, newest_us)
