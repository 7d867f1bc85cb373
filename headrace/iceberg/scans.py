"""What scans of a table tell: bounds of times, offsets of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.expressions import EqualTo

from headrace.contract import METADATA, OFFSET, PARTITION, TOPIC
from headrace.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray
    from pyiceberg.table import Table


def time_bound(value: bytes | None) -> int | None:
    """Return a bound on a column of times in microseconds; None where it is not known.

    A column that was a date when the file was written has days, in four bytes.
    """
    units_us = {8: 1, 4: DAY_US}
    if value is None or len(value) not in units_us:
        return None
    return int.from_bytes(value, "little", signed=True) * units_us[len(value)]


def offsets_of(table: Table, topic: str) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield partitions and offsets of all rows that came from a topic, in no order."""
    columns = (TOPIC, PARTITION, OFFSET)
    of_topic = EqualTo(TOPIC, topic)  # type: ignore[call-arg]  # as pyiceberg's docs have it
    scan = table.scan(row_filter=of_topic, selected_fields=columns)
    for batch in scan.to_arrow_batch_reader():
        metadata = batch.column(METADATA)
        partition, offset = (
            metadata.field(name.removeprefix(f"{METADATA}.")).to_numpy(zero_copy_only=False)
            for name in (PARTITION, OFFSET)
        )
        yield partition, offset
