"""Only hours that are over and in pieces are worth a compaction, and each is for itself."""

from __future__ import annotations

from headrace.iceberg.scans import FileSpan
from lake_writer.compaction import FEWEST_FILES, HOUR_US, SETTLED_AFTER_US, hours_to_compact

MIB = 2**20
DAY = [FileSpan(hour * HOUR_US + n, MIB) for hour in range(24) for n in range(FEWEST_FILES)]


def test_hours_are_compacted_when_they_are_over() -> None:
    now_us = 3 * HOUR_US + SETTLED_AFTER_US
    assert hours_to_compact(DAY, 128 * MIB, now_us) == [0, HOUR_US, 2 * HOUR_US]
    assert hours_to_compact(DAY, 128 * MIB, now_us - 1) == [0, HOUR_US]


def test_few_files_and_large_ones_are_left_alone() -> None:
    few = DAY[: FEWEST_FILES - 1]
    large = [FileSpan(HOUR_US, 96 * MIB)] * 10
    assert hours_to_compact([*few, *large], 128 * MIB, 100 * HOUR_US) == []
    assert hours_to_compact([*few, *large], 256 * MIB, 100 * HOUR_US) == [HOUR_US]


def test_times_before_1970_have_hours_as_well() -> None:
    files = [FileSpan(-1, 1)] * FEWEST_FILES
    assert hours_to_compact(files, MIB, 0) == []
    assert hours_to_compact(files, MIB, HOUR_US) == [-HOUR_US]
