"""Replaying tables: step after step, in the order of the files' lower bounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from backfill.certificate import Certificate, SourceCount
from backfill.disorder import DisorderMeter
from backfill.rows import rows_of
from backfill.source import LakeSource
from backfill.units import Unit, in_order
from headrace.contract import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from backfill.jsonl import JsonlFolder
    from backfill.period import Period
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

INGESTION_FIELD = "kafka_ingestion_ts"
MS = 1000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is, after a step."""

    step: int
    steps: int
    rows: int
    rows_planned: int
    frontier_us: int


class TableReplay:
    """One replay of the rows of one or more tables, without an application."""

    def __init__(
        self, workspace: Workspace, tables: Sequence[str], period: Period, regions: Sequence[str]
    ) -> None:
        self._period = period
        self._sources = {
            name: LakeSource(workspace, name, period, regions) for name in dict.fromkeys(tables)
        }
        self.units = in_order(unit for source in self._sources.values() for unit in source.units())
        self._meter = DisorderMeter()
        self._rows: Counter[str] = Counter()
        self._steps = 0

    def deliver(self, target: JsonlFolder, drain: Drain) -> Iterator[Progress]:
        """Deliver step after step; stops between two of them when asked to drain."""
        planned = sum(unit.rows for unit in self.units)
        for unit in self.units:
            if drain.requested:
                return
            self._meter.begin_step()
            batches = (rows_of(batch) for batch in self._batches(unit))
            self._rows[unit.source] += target.write_step(self._steps, unit.source, batches)
            self._steps += 1
            yield Progress(
                self._steps, len(self.units), self._rows.total(), planned, unit.min_ts_us
            )

    def certificate(self) -> Certificate:
        """Return what was measured."""
        files = Counter(unit.source for unit in self.units)
        sources = tuple(
            SourceCount(name, source.snapshot_id, files[name], self._rows[name])
            for name, source in self._sources.items()
        )
        return Certificate(
            period=str(self._period),
            steps=self._steps,
            threshold_ms=None,
            max_disorder_ms=self._meter.max_disorder_us / MS,
            dropped_late=0,
            complete=self._steps == len(self.units),
            sources=sources,
        )

    def _batches(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        for batch in self._sources[unit.source].rows(unit):
            if batch.num_rows:
                bounds = pc.min_max(ingestion_times(batch))
                self._meter.see(bounds["min"].as_py(), bounds["max"].as_py())
                yield batch


def ingestion_times(batch: pa.RecordBatch) -> pa.Int64Array:
    """Return the ingestion times of a batch in microseconds."""
    times = pc.struct_field(batch.column(METADATA), INGESTION_FIELD)
    return times.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
