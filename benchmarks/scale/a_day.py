"""A day in the lake, as the lake writer leaves it: metadata of files that nobody has to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from backfill.plan.steps import Limits, Step, bounded, unordered
from backfill.plan.strict import Stretch, cell_us, strict
from backfill.plan.units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

MINUTE_US = 60_000_000
UNLIMITED = Limits(max_rows=2**62, max_bytes=2**62)


@dataclass(frozen=True, slots=True)
class DayTable:
    """A table that gets so many files with every commit, one commit a minute.

    The files of a commit follow each other in time; each holds all Kafka partitions.
    """

    name: str
    minutes: int
    files_a_minute: int
    file_rows: int
    file_bytes: int
    partitions: int

    def files(self) -> Iterator[Unit]:
        """Yield the files."""
        width_us = MINUTE_US // self.files_a_minute
        for number in range(self.minutes * self.files_a_minute):
            start_us = number * width_us
            path = f"{self.name}-{number:07d}.parquet"
            yield Unit(
                self.name, path, start_us, start_us + width_us - 1, self.file_rows, self.file_bytes
            )

    def stretches(self, threshold_us: int) -> Iterator[Stretch]:
        """Yield what each file has of each Kafka partition."""
        each = self.file_rows // self.partitions
        for number, file in enumerate(self.files()):
            for partition in range(self.partitions):
                yield Stretch(
                    of=file,
                    topic=self.name,
                    partition=partition,
                    cell=file.min_ts_us // cell_us(threshold_us),
                    first_offset=number * each,
                    last_offset=number * each + each - 1,
                    min_ts_us=file.min_ts_us,
                    max_ts_us=file.max_ts_us,
                    rows=each,
                )


# Ten impressions for a play: 1.5 billion records in 110 GB of Parquet.
IMPRESSIONS = DayTable("impressions", 1440, 16, 60_000, 4_500_000, 16)
PLAYS = DayTable("plays", 1440, 2, 48_000, 3_600_000, 16)
TABLES = (IMPRESSIONS, PLAYS)


def in_any_order(limits: Limits = UNLIMITED) -> list[Step]:
    """Return the day file by file."""
    return list(unordered([file for table in TABLES for file in table.files()], limits))


def in_bounded_order(threshold_us: int, limits: Limits = UNLIMITED) -> list[Step]:
    """Return the day in steps within the bound."""
    files = (file for table in TABLES for file in table.files())
    return list(bounded(files, threshold_us, limits))


def in_strict_order(threshold_us: int) -> list[Step]:
    """Return the day in the order of offsets."""
    stretches = [one for table in TABLES for one in table.stretches(threshold_us)]
    return list(strict(stretches, threshold_us, UNLIMITED))
