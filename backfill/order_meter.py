"""Measuring whether the records of each Kafka partition came by their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from backfill.columns import offsets_of, partitions_of, topics_of

if TYPE_CHECKING:
    import pyarrow as pa


class OrderMeter:
    """The last offset of each partition that came, and how often one came after a later one."""

    def __init__(self, last: dict[str, int] | None = None, out_of_order: int = 0) -> None:
        self.first: dict[str, int] = {}
        self.last = dict(last or {})
        self.out_of_order = out_of_order

    def see(self, source: str, batch: pa.RecordBatch) -> None:
        """Take in records in the order in which they are delivered."""
        topics, partitions = topics_of(batch), np.asarray(partitions_of(batch))
        offsets = np.asarray(offsets_of(batch))
        for topic in pc.unique(topics).to_pylist():
            of_topic = np.asarray(pc.equal(topics, topic))
            for partition in np.unique(partitions[of_topic]):
                inside = offsets[of_topic & (partitions == partition)]
                self._lane(f"{source}|{topic}|{partition}", inside)

    def _lane(self, lane: str, offsets: np.ndarray) -> None:
        before = self.last.get(lane)
        if before is not None and offsets[0] < before:
            self.out_of_order += 1
        self.out_of_order += int(np.count_nonzero(np.diff(offsets) < 0))
        self.first.setdefault(lane, int(offsets[0]))
        newest = int(offsets.max())
        self.last[lane] = newest if before is None else max(before, newest)
