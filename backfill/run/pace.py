"""How fast a replay may go: a fixed rate, or as fast as its target takes it without slowing."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headrace.config.common.units import UnitError, parse_size
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A piece is what is sent without looking at the clock.
PIECES_PER_S = 10
LOOKED_AT_ROWS = 10_000
# So much slower than at its best, per row, and the target is taken to be overloaded.
SLOWED = 2.0
BACKED_OFF = 0.5
SPEEDED_UP = 1.25
# However slow a target was once, it is tried again within this part of its best.
LEAST = 0.01
# The best is forgotten slowly: a target may be slower today than it was an hour ago.
FORGOTTEN = 1.01


class Drained(Exception):
    """Asked to end while waiting."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many rows or bytes a second."""

    per_s: float
    unit: Literal["rows", "bytes"]

    def __str__(self) -> str:
        """Write it as `parse_rate` reads it."""
        return f"{self.per_s:f}" if self.unit == "rows" else f"{int(self.per_s)}B"

    def of(self, rows: int, size_bytes: float) -> float:
        """Return how much of what it counts rows of that size are."""
        return rows if self.unit == "rows" else size_bytes


class TokenBucket:
    """Lets through what a rate allows: nothing is saved up for longer than a second."""

    def __init__(self, per_s: float, now_s: float) -> None:
        self.per_s = per_s
        self._tokens = per_s / PIECES_PER_S
        self._at_s = now_s

    def take(self, amount: float, now_s: float) -> float:
        """Take an amount; returns how long to wait until it was allowed."""
        passed = max(0.0, now_s - self._at_s)
        self._at_s = max(self._at_s, now_s)
        self._tokens = min(self.per_s, self._tokens + passed * self.per_s) - amount
        return max(0.0, -self._tokens / self.per_s)


class Adaptive:
    """Finds how many rows a second a target takes: halves when it slows, then rises again."""

    def __init__(self) -> None:
        self.per_s: float | None = None
        self._best_s: float | None = None
        self._usual_rows = LOOKED_AT_ROWS

    def took(self, rows: int, seconds: float) -> float | None:
        """Learn how long rows took; returns the rate from now on, None for no limit."""
        self._usual_rows = max(self._usual_rows, rows)
        if rows < self._usual_rows // 2:
            # What an acknowledgement, or a batch, costs by itself would be taken for slowness.
            return self.per_s
        each_s = max(seconds, 1e-9) / max(1, rows)
        best_s = min(each_s, each_s if self._best_s is None else self._best_s * FORGOTTEN)
        self._best_s = best_s
        if each_s > SLOWED * best_s:
            attained = 1 / each_s
            allowed = attained if self.per_s is None else min(attained, self.per_s)
            self.per_s = max(allowed * BACKED_OFF, LEAST / best_s)
        elif self.per_s is not None:
            risen = self.per_s * SPEEDED_UP
            self.per_s = None if risen > 1 / best_s else risen
        return self.per_s


class Throttle:
    """Lets pieces wait for a rate: a fixed one, or one found as they are taken."""

    def __init__(
        self,
        rate: Rate | Literal["auto"],
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        # What is found is in rows.
        self._counts = rate if isinstance(rate, Rate) else Rate(1, "rows")
        self._clock = clock
        self._wait = wait
        self._adaptive = None if isinstance(rate, Rate) else Adaptive()
        self._bucket = TokenBucket(rate.per_s, clock()) if isinstance(rate, Rate) else None
        self._let_go: tuple[int, float] | None = None

    def before(self, rows: int, size_bytes: float) -> None:
        """Wait until a piece may go; whatever went before it is done."""
        self.done()
        if self._bucket is not None:
            wait_s = self._bucket.take(self._counts.of(rows, size_bytes), self._clock())
            if wait_s > 0 and self._wait(wait_s):
                raise Drained
        self._let_go = rows, self._clock()

    def done(self) -> None:
        """Learn how long the last piece took, where that decides on the rate."""
        if self._adaptive is None or self._let_go is None:
            return
        rows, at_s = self._let_go
        self._let_go = None
        per_s = self._adaptive.took(rows, self._clock() - at_s)
        if per_s is None:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = TokenBucket(per_s, self._clock())
        else:
            self._bucket.per_s = per_s


class Pace:
    """Cuts what is to be sent into pieces, and waits before each as long as the rate asks."""

    def __init__(
        self,
        rate: Rate | Literal["auto"] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self.rate = rate
        self._throttle = None if rate is None else Throttle(rate, clock, wait)

    def pieces(self, rows: int, size_bytes: int) -> Iterator[tuple[int, int]]:
        """Yield half-open spans of rows, each when it may go."""
        most = self._most(rows, size_bytes)
        for start in range(0, rows, most):
            end = min(rows, start + most)
            if self._throttle is None:
                yield start, end
            else:
                self._throttle.before(end - start, size_bytes * (end - start) / rows)
                yield start, end
                self._throttle.done()

    def _most(self, rows: int, size_bytes: int) -> int:
        if self.rate is None:
            return max(1, rows)
        if not isinstance(self.rate, Rate):
            return LOOKED_AT_ROWS
        of_rows = self.rate.per_s / PIECES_PER_S
        if self.rate.unit == "bytes":
            of_rows = of_rows * rows / max(1, size_bytes)
        return max(1, int(of_rows))


def parse_rate(text: str | None) -> Rate | Literal["auto"] | None:
    """Read `5000` (rows a second), `10MiB` (bytes a second) or `auto`."""
    if text is None or text == "auto":
        return text  # type: ignore[return-value]  # mypy does not narrow to a literal by ==
    plain = text.strip().removesuffix("/s")
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", plain) and float(plain) > 0:
        return Rate(float(plain), "rows")
    try:
        size = parse_size(plain)
    except UnitError as problem:
        raise UsageError(
            f"--rate-limit {text}: {problem.reason}",
            "give rows per second (5000), bytes per second (10MiB), or auto",
        ) from None
    if size <= 0:
        raise UsageError(
            f"--rate-limit {text} would deliver nothing", "without the option there is no limit"
        )
    return Rate(float(size), "bytes")
