"""Rows of several partitions in the order of their time, a bounded number of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from headrace.contract import INGESTION_TS, OFFSET, PARTITION
from headrace.records.arrow import column_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

HELD_BYTES: Final = 128 * 2**20


class TimeOrder:
    """Holds rows until it is likely that none before them comes.

    Each partition is in the order of its time, more or less. What is older than the newest row of
    every partition can go; where a partition is far behind the others, everything goes, for memory
    has a bound.
    """

    def __init__(self, held_bytes: int = HELD_BYTES) -> None:
        self._most = held_bytes
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._newest_us: dict[int, int] = {}

    def add(self, partition: int, newest_us: int, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take in rows of one partition; yield what can go, in order."""
        self._held.append(rows)
        self._bytes += rows.nbytes
        self._newest_us[partition] = newest_us
        if self._bytes >= self._most:
            yield self._take(min(self._newest_us.values()))

    def rest(self) -> Iterator[pa.Table]:
        """Yield what is left, in order."""
        if self._held:
            yield self._take(None)

    def _take(self, up_to_us: int | None) -> pa.Table:
        rows = pa.Table.from_batches(self._held).combine_chunks()
        times, partitions, offsets = (
            _numbers(rows, name) for name in (INGESTION_TS, PARTITION, OFFSET)
        )
        order = np.lexsort((offsets, partitions, times))
        end = len(order)
        if up_to_us is not None:
            before = int(np.searchsorted(times[order], up_to_us, side="right"))
            end = before if before >= end // 2 else end
        kept = rows.take(order[end:]).combine_chunks()
        self._held, self._bytes = kept.to_batches(), kept.nbytes
        is_in_order = end == len(order) and bool(np.all(order[:-1] < order[1:]))
        return rows if is_in_order else rows.take(order[:end])


def _numbers(rows: pa.Table, name: str) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = column_at(rows, name).cast(pa.int64()).to_numpy()
    return numbers
