"""The writer's clock, for what others will rely on: better late than ahead."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _since_boot_ns() -> int:
    # Linux has one that goes on while the machine sleeps.
    own = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns() if own is None else time.clock_gettime_ns(own)


class NeverAhead:
    """A clock that follows the machine's back, and does not follow it when it jumps ahead.

    It goes by the least that the machine's clock ever was before a steady one since the start: set
    forward by mistake it would say that a table is complete up to a time that is still to come.
    """

    def __init__(
        self,
        machine_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = _since_boot_ns,
    ) -> None:
        self._machine_ns, self._steady_ns = machine_ns, steady_ns
        self._before_ns = machine_ns() - steady_ns()

    def now_us(self) -> int:
        """Return the time in microseconds since 1970."""
        steady_ns = self._steady_ns()
        self._before_ns = min(self._before_ns, self._machine_ns() - steady_ns)
        return (steady_ns + self._before_ns) // 1_000
