"""The records of a step, in the order of the plan."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backfill.read.batch_columns import positions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from backfill.plan.steps import Step
    from backfill.plan.units import OffsetRange, Unit
    from backfill.read.source import LakeSource
    from backfill.read.table_reader import FilteredRows


def read_step(
    step: Step, sources: Mapping[str, LakeSource]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the records of a step, each batch with the name of its table."""
    if not step.ranges:
        for unit in step.units:
            for batch in sources[unit.source].rows(unit):
                yield unit.source, batch
        return
    for name in dict.fromkeys(unit.source for unit in step.units):
        units = [unit for unit in step.units if unit.source == name]
        ranges = [one for one in step.ranges if one.source == name]
        for batch in read_in_order(sources[name], units, ranges):
            yield name, batch


def read_in_order(
    source: LakeSource,
    units: Sequence[Unit],
    ranges: Sequence[OffsetRange],
    filtered: FilteredRows | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield those offsets' records in their order; a step's are held in memory for it."""
    offsets = OffsetFilter(ranges)
    yield from in_order([batch for unit in units for batch in source.rows(unit, offsets, filtered)])


BATCH_ROWS = 65_536


class OffsetFilter:
    """Tells which records of one table lie in any of the ranges."""

    def __init__(self, ranges: Iterable[OffsetRange]) -> None:
        by_topic: dict[str, list[OffsetRange]] = defaultdict(list)
        for one in ranges:
            by_topic[one.topic].append(one)
        self._bounds = {topic: _bounds(found) for topic, found in by_topic.items()}

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Return which records of a batch to keep."""
        topics, *numbers = positions_of(batch)
        partitions, offsets = map(np.asarray, numbers)
        kept = np.zeros(batch.num_rows, dtype=bool)
        for topic, (first, end) in self._bounds.items():
            of_topic = np.asarray(pc.equal(topics, topic).fill_null(False)) & (
                partitions < len(first)
            )
            place = np.where(of_topic, partitions, 0)
            kept |= of_topic & (first[place] <= offsets) & (offsets < end[place])
        return pa.array(kept)


def in_order(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the records of one table's step by topic, partition and offset."""
    if not batches:
        return
    whole = pa.Table.from_batches(batches).combine_chunks()
    keys = pa.concat_tables(pa.table(positions_of(batch)._asdict()) for batch in batches)
    places = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
    for start in range(0, len(places), BATCH_ROWS):
        part = whole.take(places[start : start + BATCH_ROWS]).combine_chunks()
        yield from part.to_batches()


def _bounds(ranges: Sequence[OffsetRange]) -> tuple[np.ndarray, np.ndarray]:
    size = max(one.partition for one in ranges) + 1
    first, end = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for one in ranges:
        first[one.partition], end[one.partition] = one.first, one.end_exclusive
    return first, end
