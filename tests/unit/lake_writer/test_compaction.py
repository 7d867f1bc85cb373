"""Only hours that are over and in pieces are worth a compaction, and each is for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.iceberg.file_figures import FileFacts, counted
from lake_writer.compaction import (
    FEWEST_FILES,
    HOUR_US,
    SETTLED_AFTER_US,
    SMALL_SHARE,
    hours_to_compact,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

MIB = 2**20


def file(start_us: int, size: int) -> FileFacts:
    return FileFacts(size, 1, start_us, start_us)


DAY = [file(hour * HOUR_US + n, MIB) for hour in range(24) for n in range(FEWEST_FILES)]


def hours(files: Iterable[FileFacts], target: int, now_us: int) -> list[int]:
    return hours_to_compact(counted(files, SMALL_SHARE * target, 0).small_by_hour, now_us)


def test_hours_are_compacted_when_they_are_over() -> None:
    now_us = 3 * HOUR_US + SETTLED_AFTER_US
    assert hours(DAY, 128 * MIB, now_us) == [0, HOUR_US, 2 * HOUR_US]
    assert hours(DAY, 128 * MIB, now_us - 1) == [0, HOUR_US]


def test_few_files_and_large_ones_are_left_alone() -> None:
    few = DAY[: FEWEST_FILES - 1]
    large = [file(HOUR_US, 96 * MIB)] * 10
    assert hours([*few, *large], 128 * MIB, 100 * HOUR_US) == []
    assert hours([*few, *large], 256 * MIB, 100 * HOUR_US) == [HOUR_US]


def test_times_before_1970_have_hours_as_well() -> None:
    files = [file(-1, 1)] * FEWEST_FILES
    assert hours(files, MIB, 0) == []
    assert hours(files, MIB, HOUR_US) == [-HOUR_US]
