"""How many rows a table holds when, by the bounds of its files: metadata alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import ManifestContent

from backfill.read.listing import list_files, time_span
from headrace.contract import INGESTION_TS
from headrace.errors import Terminal
from headrace.times import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyiceberg.table import Table

# More of them take longer to list than anybody waits for a picture.
MOST_FILES: Final = 200_000
MOST_SPANS: Final = 120
MOST_GAPS: Final = 10
DAY_US: Final = 86_400 * SECOND_US
EACH_US: Final = tuple(
    seconds * SECOND_US
    for seconds in (60, 300, 900, 3_600, 21_600, 86_400, 604_800, 30 * 86_400, 365 * 86_400)
)


@dataclass(frozen=True, slots=True)
class FileSpan:
    """The rows of a data file, and from when to when they arrived."""

    first_us: int
    last_us: int
    rows: int


@dataclass(frozen=True, slots=True)
class RowsOverTime:
    """The rows of a table in spans of `each_us` from `start_us` on.

    `gaps` are spans of time, longer than that, in which no file has a row. `rows_elsewhere` have no
    bounds, or a time that is still to come.
    """

    rows: int = 0
    files: int = 0
    first_us: int | None = None
    last_us: int | None = None
    start_us: int = 0
    each_us: int = EACH_US[0]
    counts: Sequence[int] = ()
    gaps: Sequence[tuple[int, int]] = ()
    rows_elsewhere: int = 0
    is_whole: bool = field(default=True)


def rows_over_time(table: Table, now_us: int, time_column: str = INGESTION_TS) -> RowsOverTime:
    """Return what a table holds over time, at its current snapshot."""
    try:
        field_id = table.schema().find_field(time_column).field_id
    except ValueError:
        raise Terminal(f"the table has no column {time_column} to show its rows by") from None
    snapshot = table.current_snapshot()
    manifests = [] if snapshot is None else snapshot.manifests(table.io)
    data = [one for one in manifests if one.content == ManifestContent.DATA]
    spans: list[FileSpan] = []
    elsewhere = files = 0
    listed = list_files(table, data, AlwaysTrue(), [field_id])
    for file in islice(listed, MOST_FILES):
        files += 1
        span = time_span(file.bounds[0])
        if span is None or span[0] > now_us + DAY_US:
            elsewhere += file.rows
        else:
            spans.append(FileSpan(span[0], min(span[1], now_us + DAY_US), file.rows))
    found = spread(spans)
    return RowsOverTime(
        found.rows + elsewhere,
        files,
        found.first_us,
        found.last_us,
        found.start_us,
        found.each_us,
        found.counts,
        found.gaps,
        elsewhere,
        next(listed, None) is None,
    )


def spread(spans: Sequence[FileSpan]) -> RowsOverTime:
    """Spread the rows of each file evenly over its time."""
    if not spans:
        return RowsOverTime()
    first_us, last_us = min(one.first_us for one in spans), max(one.last_us for one in spans)
    each_us = next(
        (one for one in EACH_US if (last_us - first_us) // one + 2 <= MOST_SPANS), EACH_US[-1]
    )
    start_us = first_us - first_us % each_us
    counts = [0.0] * ((last_us - start_us) // each_us + 1)
    for one in spans:
        low, high = ((us - start_us) // each_us for us in (one.first_us, one.last_us))
        width_us = one.last_us - one.first_us + 1
        for number in range(low, high + 1):
            begin_us = start_us + number * each_us
            end_us = min(begin_us + each_us, one.last_us + 1)
            counts[number] += one.rows * (end_us - max(begin_us, one.first_us)) / width_us
    return RowsOverTime(
        sum(one.rows for one in spans),
        len(spans),
        first_us,
        last_us,
        start_us,
        each_us,
        [round(one) or int(one > 0) for one in counts],
        gaps_between(spans, each_us),
    )


def gaps_between(spans: Iterable[FileSpan], longer_us: int) -> list[tuple[int, int]]:
    """Return the longest spans of time that no file covers, in their order."""
    found: list[tuple[int, int]] = []
    reached_us: int | None = None
    for one in sorted(spans, key=lambda one: one.first_us):
        if reached_us is not None and one.first_us - reached_us > longer_us:
            found.append((reached_us, one.first_us))
        reached_us = max(one.last_us, reached_us or one.last_us)
    longest = sorted(found, key=lambda gap: gap[0] - gap[1])[:MOST_GAPS]
    return sorted(longest)
