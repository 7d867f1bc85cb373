"""Which hours are worth compacting: those that are over, and in many small files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

HOUR_US: Final = 3_600_000_000
# Iceberg's own measures: what it would leave alone is not asked for.
SMALL_SHARE: Final = 0.75
FEWEST_FILES: Final = 5
# Batches of an hour may still be on their way when it is over.
SETTLED_AFTER_US: Final = HOUR_US // 4


def hours_to_compact(small_files: Mapping[int, int], now_us: int) -> list[int]:
    """Return the beginnings of the hours to compact, by how many small files each hour has.

    Files of different hours are never brought together: a replay of an hour would read them all.
    """
    return sorted(
        hour
        for hour, number in small_files.items()
        if number >= FEWEST_FILES and hour + HOUR_US + SETTLED_AFTER_US <= now_us
    )
