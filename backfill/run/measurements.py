"""What the tasks of a Spark replay saw, kept beside its plan: a small file per task and step.

A task writes its file when it has read all; one that is retried writes the same again. So what
is there after a restart is what was there before, however the query ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow.compute as pc

from backfill.read.batch_columns import arrivals_of, positions_of, span_of
from backfill.read.table_reader import FilteredRows
from headrace.application.ahead_of_time import hold_back
from headrace.jvm.relay import put
from headrace.records.arrow import times_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from headrace.application.ahead_of_time import Ahead
    from headrace.jvm.relay import RelayAddress


FOLDER = "measured"


@dataclass(slots=True)
class TaskMeasures:
    """What one task saw of one table in one step."""

    source: str
    rows: int = 0
    oldest_us: int | None = None
    newest_us: int | None = None
    first_offsets: dict[str, int] = field(default_factory=dict)
    last_offsets: dict[str, int] = field(default_factory=dict)
    out_of_order: int = 0
    ahead: int = 0
    left_out: int = 0


@dataclass(slots=True)
class Totals:
    """What a whole replay measured."""

    rows: Counter[str]
    left_out: Counter[str]
    max_disorder_us: int
    out_of_order: int
    ahead: int


class TaskMeter:
    """Measures what passes through one task."""

    def __init__(self, source: str, time_column: str, *, offsets: bool) -> None:
        self._measure = TaskMeasures(source)
        self._time_column = time_column
        self._order = OrderMeter() if offsets else None
        self.left_out = FilteredRows()

    def through(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass batches on, having looked at them."""
        measure = self._measure
        for batch in batches:
            oldest, newest = span_of(times_of(batch, self._time_column))
            measure.rows += batch.num_rows
            if measure.oldest_us is not None and measure.newest_us is not None:
                oldest, newest = min(oldest, measure.oldest_us), max(newest, measure.newest_us)
            measure.oldest_us, measure.newest_us = oldest, newest
            if self._order is not None:
                self._order.see(measure.source, batch)
            yield batch

    def held_back(self, batch: pa.RecordBatch, ahead: Ahead) -> pa.RecordBatch:
        """Return a batch without what is too far ahead of its arrival, and count that."""
        held = hold_back(batch, ahead, arrivals_of(batch, self._time_column))
        self._measure.ahead += len(held.rows)
        return held.batch

    def store(self, path: Path, relay: RelayAddress | None = None) -> None:
        """Write what was seen; by the relay, where the path is of another machine."""
        self._measure.left_out = self.left_out.rows
        if self._order is not None:
            self._measure.first_offsets = self._order.first
            self._measure.last_offsets = self._order.last
            self._measure.out_of_order = self._order.out_of_order
        put(path, msgspec.json.encode(self._measure), relay)


def file_of(folder: Path, step: int, source: str, number: int, count: int) -> Path:
    """Return where a task keeps what it saw: task so-and-so of so many."""
    return folder / FOLDER / f"{step:06d}" / f"{source}.{number}-of-{count}.json"


def totals(folder: Path, steps: int) -> Totals:
    """Put together what all tasks of the first so many steps saw."""
    rows: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    meter, last, out_of_order, ahead = DisorderMeter(), dict[str, int](), 0, 0
    for step in range(steps):
        meter.begin_step()
        for measure in _whole(folder / FOLDER / f"{step:06d}"):
            rows[measure.source] += measure.rows
            left_out[measure.source] += measure.left_out
            out_of_order += measure.out_of_order
            ahead += measure.ahead
            if measure.oldest_us is not None and measure.newest_us is not None:
                meter.see(measure.oldest_us, measure.newest_us)
            for partition, first in measure.first_offsets.items():
                out_of_order += first < last.get(partition, first)
                last[partition] = max(last.get(partition, first), measure.last_offsets[partition])
    return Totals(rows, left_out, meter.max_disorder_us, out_of_order, ahead)


def _whole(folder: Path) -> Iterator[TaskMeasures]:
    """Yield what the tasks of a step saw: of every table one attempt that is whole.

    A step that is repeated after a restart may have been shared out among more tasks, or fewer.
    """
    attempts: dict[tuple[str, int], list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        source, _, numbers = path.stem.rpartition(".")
        attempts[source, int(numbers.rpartition("-of-")[2])].append(path)
    seen: set[str] = set()
    for (source, count), paths in attempts.items():
        if len(paths) == count and source not in seen:
            seen.add(source)
            for path in paths:
                yield msgspec.json.decode(path.read_bytes(), type=TaskMeasures)


class DisorderMeter:
    """The most by which a record lay behind one of an earlier step."""

    def __init__(self, newest_us: int | None = None, max_disorder_us: int = 0) -> None:
        self._newest_before_us: int | None = None
        self.newest_us = newest_us
        self.max_disorder_us = max_disorder_us

    def begin_step(self) -> None:
        """Count what was seen so far among the earlier steps."""
        self._newest_before_us = self.newest_us

    def see(self, oldest_us: int, newest_us: int) -> None:
        """Take in records of the step at hand, by the oldest and the newest of them."""
        if self._newest_before_us is not None:
            self.max_disorder_us = max(self.max_disorder_us, self._newest_before_us - oldest_us)
        self.newest_us = newest_us if self.newest_us is None else max(self.newest_us, newest_us)


class OrderMeter:
    """The last offset of each partition that came, and how often one came after a later one."""

    def __init__(self, last: dict[str, int] | None = None, out_of_order: int = 0) -> None:
        self.first: dict[str, int] = {}
        self.last = dict(last or {})
        self.out_of_order = out_of_order

    def see(self, source: str, batch: pa.RecordBatch) -> None:
        """Take in records in the order in which they are delivered."""
        topics, *numbers = positions_of(batch)
        partitions, offsets = map(np.asarray, numbers)
        for topic in pc.unique(topics).to_pylist():
            of_topic = np.asarray(pc.equal(topics, topic))
            for partition in np.unique(partitions[of_topic]):
                inside = offsets[of_topic & (partitions == partition)]
                self._see_partition(f"{source}|{topic}|{partition}", inside)

    def _see_partition(self, name: str, offsets: np.ndarray) -> None:
        before = self.last.get(name)
        if before is not None and offsets[0] < before:
            self.out_of_order += 1
        self.out_of_order += int(np.count_nonzero(np.diff(offsets) < 0))
        self.first.setdefault(name, int(offsets[0]))
        newest = int(offsets.max())
        self.last[name] = newest if before is None else max(before, newest)
