"""What the tasks of a Spark replay saw, kept beside its plan: a small file per task and step.

A task writes its file when it has read all; one that is retried writes the same again. So what
is there after a restart is what was there before, however the query ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pyarrow.compute as pc

from backfill.columns import arrivals_of, times_of
from backfill.disorder import DisorderMeter
from backfill.order_meter import OrderMeter
from backfill.table_reader import LeftOut
from headrace import state_files
from headrace.records.ahead import hold_back

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from headrace.records.ahead import Ahead

FOLDER = "measured"


@dataclass(slots=True)
class TaskMeasure:
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
        self._measure = TaskMeasure(source)
        self._time_column = time_column
        self._order = OrderMeter() if offsets else None
        self.left_out = LeftOut()

    def through(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass batches on, having looked at them."""
        measure = self._measure
        for batch in batches:
            bounds = pc.min_max(times_of(batch, self._time_column))
            oldest, newest = bounds["min"].as_py(), bounds["max"].as_py()
            measure.rows += batch.num_rows
            measure.oldest_us = min(
                oldest, oldest if measure.oldest_us is None else measure.oldest_us
            )
            measure.newest_us = max(
                newest, newest if measure.newest_us is None else measure.newest_us
            )
            if self._order is not None:
                self._order.see(measure.source, batch)
            yield batch

    def held_back(self, batch: pa.RecordBatch, ahead: Ahead) -> pa.RecordBatch:
        """Return a batch without what is too far ahead of its arrival, and count that."""
        held = hold_back(batch, ahead, arrivals_of(batch, self._time_column))
        self._measure.ahead += len(held.rows)
        return held.batch

    def keep(self, path: Path) -> None:
        """Write what was seen."""
        self._measure.left_out = self.left_out.rows
        if self._order is not None:
            self._measure.first_offsets = self._order.first
            self._measure.last_offsets = self._order.last
            self._measure.out_of_order = self._order.out_of_order
        state_files.write(path, msgspec.json.encode(self._measure))


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
            for lane, first in measure.first_offsets.items():
                out_of_order += first < last.get(lane, first)
                last[lane] = max(last.get(lane, first), measure.last_offsets[lane])
    return Totals(rows, left_out, meter.max_disorder_us, out_of_order, ahead)


def _whole(folder: Path) -> Iterator[TaskMeasure]:
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
                yield msgspec.json.decode(path.read_bytes(), type=TaskMeasure)
