"""The records of a step, in the order of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill.lanes import LaneFilter, in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from backfill.planner import Step
    from backfill.source import LakeSource
    from backfill.table_reader import LeftOut
    from backfill.units import OffsetRange, Unit


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
    left_out: LeftOut | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield those offsets' records in their order; a step's are held in memory for it."""
    lanes = LaneFilter(ranges)
    yield from in_order([batch for unit in units for batch in source.rows(unit, lanes, left_out)])
