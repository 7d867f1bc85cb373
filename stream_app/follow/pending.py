"""What is not dispatched yet, and how much of it makes the next batch.

The frontier is the least time that is left. A batch goes up to a time at most the threshold after
it, so that nothing in a later batch is older than what came before by more than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from backfill.plan.steps import Limits
    from backfill.plan.units import Unit


@dataclass(frozen=True, slots=True)
class PendingPiece:
    """The rows of a unit between two times, both included; how many is estimated."""

    low_us: int
    high_us: int
    rows: float
    size_bytes: float

    def share_before(self, end_us: int) -> float:
        """Return how much of it lies before a time, as if its rows lay evenly."""
        return min(1.0, max(0.0, (end_us - self.low_us) / (self.high_us - self.low_us + 1)))


def piece_of(unit: Unit, low_us: int, end_us: int | None = None) -> PendingPiece | None:
    """Return the rows of a unit from a time on, and before another; None where it has none."""
    low = max(unit.min_ts_us, low_us)
    high = unit.max_ts_us if end_us is None else min(unit.max_ts_us, end_us - 1)
    if low > high:
        return None
    share = (high - low + 1) / (unit.max_ts_us - unit.min_ts_us + 1)
    return PendingPiece(low, high, unit.rows * share, unit.size_bytes * share)


class PendingPieces:
    """The pieces of one look at the tables, taken from the oldest on."""

    def __init__(self, pieces: Iterable[PendingPiece]) -> None:
        self._pieces = sorted(pieces, key=lambda piece: (piece.low_us, piece.high_us))
        self._next = 0
        self._begun: list[PendingPiece] = []

    @property
    def newest_us(self) -> int | None:
        """The newest time of all."""
        return max((piece.high_us for piece in self._pieces), default=None)

    def frontier_us(self, until_us: int) -> int | None:
        """Return the least time that is left; `until_us` may only grow."""
        self._begun = [piece for piece in self._begun if piece.high_us >= until_us]
        while self._next < len(self._pieces) and self._pieces[self._next].low_us <= until_us:
            self._begin_one(until_us)
        if self._begun:
            return max(until_us, min(piece.low_us for piece in self._begun))
        return self._pieces[self._next].low_us if self._next < len(self._pieces) else None

    def end_of_batch(
        self, until_us: int, ceiling_us: int, threshold_us: int, limits: Limits
    ) -> int | None:
        """Return the time before which the next batch ends; None where there is nothing for one.

        Nothing at the ceiling or after it may be taken.
        """
        frontier = self.frontier_us(until_us)
        if frontier is None or frontier >= ceiling_us:
            return None
        end = min(frontier + threshold_us + 1, ceiling_us)
        while self._next < len(self._pieces) and self._pieces[self._next].low_us < end:
            self._begin_one(until_us)
        left = [_from(piece, until_us) for piece in self._begun if piece.low_us < end]
        end = min(end, 1 + max(piece.high_us for piece in left))
        return end if _fits(left, end, limits) else _largest(left, frontier + 1, end, limits)

    def _begin_one(self, until_us: int) -> None:
        piece = self._pieces[self._next]
        self._next += 1
        if piece.high_us >= until_us:
            self._begun.append(piece)


def _from(piece: PendingPiece, low_us: int) -> PendingPiece:
    if piece.low_us >= low_us:
        return piece
    left = 1 - piece.share_before(low_us)
    return PendingPiece(low_us, piece.high_us, piece.rows * left, piece.size_bytes * left)


def _fits(pieces: Sequence[PendingPiece], end_us: int, limits: Limits) -> bool:
    shares = [piece.share_before(end_us) for piece in pieces]
    rows = sum(share * piece.rows for share, piece in zip(shares, pieces, strict=True))
    size = sum(share * piece.size_bytes for share, piece in zip(shares, pieces, strict=True))
    return rows <= limits.max_rows and size <= limits.max_bytes


def _largest(pieces: Sequence[PendingPiece], low_us: int, high_us: int, limits: Limits) -> int:
    """Return the last end that fits, `low_us` if none does: what is at one time is not divided."""
    while high_us - low_us > 1:
        middle = (low_us + high_us) // 2
        if _fits(pieces, middle, limits):
            low_us = middle
        else:
            high_us = middle
    return low_us
