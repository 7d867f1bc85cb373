"""What bounds in manifests tell of times, by the type that a column had when a file was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.contract import INGESTION_TS
from headrace.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.table import Table


def time_bound(value: bytes | None) -> int | None:
    """Return a bound on a column of times in microseconds; None where it is not known.

    A column that was a date when the file was written has days, in four bytes.
    """
    units_us = {8: 1, 4: DAY_US}
    if value is None or len(value) not in units_us:
        return None
    return int.from_bytes(value, "little", signed=True) * units_us[len(value)]


@dataclass(frozen=True, slots=True)
class FileSpan:
    """A data file: the least ingestion time in it, and how large it is."""

    start_us: int
    bytes: int


def file_spans(table: Table) -> Iterator[FileSpan]:
    """Yield the live data files that have bounds on the ingestion time."""
    number = table.schema().find_field(INGESTION_TS).field_id
    for task in table.scan().plan_files():
        least_us = time_bound((task.file.lower_bounds or {}).get(number))
        if least_us is not None:
            yield FileSpan(least_us, task.file.file_size_in_bytes)
