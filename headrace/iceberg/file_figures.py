"""Sizes and spans of time of a table's files, counted manifest by manifest.

A manifest never changes, so it is read once: of a table with 100,000 files the next look reads what
was committed since.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from pyiceberg.manifest import ManifestContent

from headrace.contract import INGESTION_TS
from headrace.iceberg.manifest_scan import live_entries
from headrace.iceberg.scans import time_bound
from headrace.times import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table import Table

MIB: Final = 2**20
# The upper ends of the groups; the last group has no end.
SIZES: Final = (64 * 2**10, MIB, 8 * MIB, 32 * MIB, 128 * MIB, 512 * MIB)
SPANS_S: Final = (60, 300, 900, 3_600, 21_600, 86_400)
HOUR_US: Final = 3_600 * SECOND_US
# Of so many manifests the figures are remembered.
MOST_REMEMBERED: Final = 4_096


@dataclass(slots=True)
class FileFigures:
    """Counts of files; by size and by span as (files, bytes), in the order of SIZES and SPANS_S.

    `small_by_hour` counts the small files of each hour of ingestion, by when it begins; a file
    without bounds on the time of ingestion is in no span. `unread_files` were not looked at.
    """

    files: int = 0
    rows: int = 0
    bytes: int = 0
    small_files: int = 0
    wide_files: int = 0
    wide_bytes: int = 0
    by_size: list[list[int]] = field(default_factory=lambda: [[0, 0] for _ in (*SIZES, 0)])
    by_span: list[list[int]] = field(default_factory=lambda: [[0, 0] for _ in (*SPANS_S, 0)])
    without_bounds: int = 0
    first_us: int | None = None
    last_us: int | None = None
    small_by_hour: Counter[int] = field(default_factory=Counter)
    manifests: int = 0
    unread_files: int = 0

    def add(self, other: FileFigures) -> None:
        """Add what another manifest has."""
        self.files += other.files
        self.rows += other.rows
        self.bytes += other.bytes
        self.small_files += other.small_files
        self.wide_files += other.wide_files
        self.wide_bytes += other.wide_bytes
        for own, more in ((self.by_size, other.by_size), (self.by_span, other.by_span)):
            for at, (files, size) in enumerate(more):
                own[at][0] += files
                own[at][1] += size
        self.without_bounds += other.without_bounds
        self.small_by_hour.update(other.small_by_hour)
        times = [one for one in (self.first_us, other.first_us) if one is not None]
        self.first_us = min(times, default=None)
        times = [one for one in (self.last_us, other.last_us) if one is not None]
        self.last_us = max(times, default=None)


class FileFacts(NamedTuple):
    """A data file, and between which times its records arrived, where it says so."""

    bytes: int
    rows: int
    low_us: int | None
    high_us: int | None


class FileFiguresReader:
    """Counts the files of one table, and remembers what each manifest came to.

    Files below `small_below` bytes are small; those whose times span more than `threshold_us`
    are wide: a replay with that threshold reads such a file in parts. Beyond `most_files` the oldest
    manifests are not read.
    """

    def __init__(
        self, small_below: float, threshold_us: int = 0, most_files: int | None = None
    ) -> None:
        self._small_below = small_below
        self._most_files = most_files
        self._threshold_us = threshold_us
        self._known: OrderedDict[str, FileFigures] = OrderedDict()

    def read(self, table: Table) -> FileFigures:
        """Return the figures of the newest snapshot's files."""
        total, snapshot = FileFigures(), table.current_snapshot()
        if snapshot is None:
            return total
        number = table.schema().find_field(INGESTION_TS).field_id
        manifests = [
            one for one in snapshot.manifests(table.io) if one.content == ManifestContent.DATA
        ]
        total.manifests = len(manifests)
        for manifest in sorted(manifests, key=_age, reverse=True):
            live = (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
            if self._most_files is not None and total.files + live > self._most_files:
                total.unread_files += live
            else:
                total.add(self._of(table, manifest, number))
        return total

    def _of(self, table: Table, manifest: ManifestFile, number: int) -> FileFigures:
        path = manifest.manifest_path
        found = self._known.get(path)
        if found is None:
            with table.io.new_input(path).open() as stream:
                content = bytes(stream.read())
            files = (
                FileFacts(one.size_bytes, one.rows, *map(time_bound, one.bounds[0]))
                for one in live_entries(content, number)
            )
            found = counted(files, self._small_below, self._threshold_us)
            self._known[path] = found
        self._known.move_to_end(path)
        if len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
        return found


def counted(files: Iterable[FileFacts], small_below: float, threshold_us: int) -> FileFigures:
    """Count files: small ones below so many bytes, wide ones above so much time."""
    found = FileFigures()
    for size, rows, low_us, high_us in files:
        found.files += 1
        found.rows += rows
        found.bytes += size
        _count(found.by_size, SIZES, size, size)
        is_small = size < small_below
        found.small_files += is_small
        if is_small and low_us is not None:
            found.small_by_hour[low_us // HOUR_US * HOUR_US] += 1
        if low_us is None or high_us is None:
            found.without_bounds += 1
            continue
        span_us = high_us - low_us
        _count(found.by_span, SPANS_S, span_us / SECOND_US, size)
        if span_us > threshold_us:
            found.wide_files += 1
            found.wide_bytes += size
        found.first_us = low_us if found.first_us is None else min(found.first_us, low_us)
        found.last_us = high_us if found.last_us is None else max(found.last_us, high_us)
    return found


def _count(groups: list[list[int]], ends: tuple[int, ...], value: float, size: int) -> None:
    at = next((number for number, end in enumerate(ends) if value <= end), len(ends))
    groups[at][0] += 1
    groups[at][1] += size


def _age(manifest: ManifestFile) -> int:
    return manifest.sequence_number or 0
