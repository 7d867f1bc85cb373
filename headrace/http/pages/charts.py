"""Bars and columns that the server draws: their lengths, beside the numbers that stand there too."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.http.pages.formats import duration, size
from headrace.times import SECOND_US, format_time_us, parse_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.http.detail_rows import LedgerBatch
    from headrace.http.table_rows import FileGroup

# A picture of columns is so wide and so high, in units of its own.
WIDTH: Final = 1000
HEIGHT: Final = 60
MOST_COLUMNS: Final = 60
BUCKETS_S: Final = (1, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400)


@dataclass(frozen=True, slots=True)
class Bar:
    """A group of files: its bounds in words, its share of the largest group in percent."""

    label: str
    files: int
    bytes: int
    width: int
    is_wide: bool = False


def size_bars(groups: Sequence[FileGroup]) -> list[Bar]:
    """Return the bars of files by their size."""
    return _bars(groups, size)


def span_bars(groups: Sequence[FileGroup], threshold_s: int) -> list[Bar]:
    """Return the bars of files by their time; wide ones hold more than the threshold."""
    return _bars(groups, duration, threshold_s)


def _bars(
    groups: Sequence[FileGroup],
    name: Callable[[float | None], str],
    threshold: int | None = None,
) -> list[Bar]:
    most = max((one.files for one in groups), default=0) or 1
    bars: list[Bar] = []
    lower: int | None = None
    for one in groups:
        label = f"up to {name(one.up_to)}" if one.up_to is not None else f"over {name(lower)}"
        # At least a sliver, where there is a file at all.
        width = max(1, 100 * one.files // most) if one.files else 0
        is_wide = threshold is not None and lower is not None and lower >= threshold
        bars.append(Bar(label, one.files, one.bytes, width, is_wide))
        lower = one.up_to
    return bars


@dataclass(frozen=True, slots=True)
class Column:
    """What was read in a stretch of time: heights of its parts from the ground up."""

    x: int
    width: int
    parts: Sequence[tuple[str, int, int]]
    has_lost: bool
    about: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of one width in time, from the first batch to the last."""

    columns: Sequence[Column]
    bucket: str
    first: str
    last: str
    most: int


def columns_of(batches: Sequence[LedgerBatch]) -> Columns | None:
    """Return the picture of a ledger's batches; None where there are not two of them."""
    if len(batches) < 2:
        return None
    times = [parse_time_us(one.at) for one in batches]
    first_us, last_us = min(times), max(times)
    span_s = (last_us - first_us) / SECOND_US
    bucket_s = next((one for one in BUCKETS_S if span_s / one < MOST_COLUMNS - 1), None)
    bucket_us = (bucket_s or int(span_s / (MOST_COLUMNS - 2)) + 1) * SECOND_US
    begin = first_us // bucket_us
    number = last_us // bucket_us - begin + 1
    found: dict[int, list[LedgerBatch]] = defaultdict(list)
    for at_us, one in zip(times, batches, strict=True):
        found[at_us // bucket_us - begin].append(one)
    sums = {
        at: {
            "written": sum(one.written for one in own),
            "filtered": sum(one.filtered for one in own),
            "dropped": sum(one.dropped for one in own),
            "quarantined": sum(one.quarantined for one in own),
        }
        for at, own in found.items()
    }
    most = max((sum(one.values()) for one in sums.values()), default=0) or 1
    step = WIDTH // number
    columns = []
    for at, counts in sorted(sums.items()):
        lost = sum(one.lost for one in found[at])
        parts, ground = [], 0
        for name, many in counts.items():
            height = HEIGHT * (ground + many) // most - HEIGHT * ground // most
            if height:
                top = HEIGHT - HEIGHT * (ground + many) // most
                parts.append((name, top, height))
            ground += many
        said = ", ".join(f"{many:,} {name}" for name, many in counts.items() if many)
        begins = format_time_us((begin + at) * bucket_us)[:19].replace("T", " ")
        lost_said = f", {lost:,} lost" if lost else ""
        columns.append(
            Column(
                at * step,
                max(1, step - 2),
                parts,
                lost > 0,
                f"{begins}: {said or 'nothing'}{lost_said}",
            )
        )
    return Columns(
        columns,
        duration(bucket_us / SECOND_US),
        format_time_us(first_us),
        format_time_us(last_us),
        most,
    )
