"""Of which time a table's files hold records, as its manifests tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.contract import INGESTION_TS
from headrace.iceberg.bounds import time_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.table import Table


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
