"""A table of the lake as a source: its snapshot, its units, the rows of a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import (
    And,
    BooleanExpression,
    GreaterThanOrEqual,
    In,
    LessThan,
)
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.types import TimestamptzType

from backfill.footer import footer_bounds
from backfill.units import Unit
from headrace.contract import INGESTION_TS, REGION
from headrace.errors import Terminal
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table

    from backfill.period import Period
    from headrace.config.workspace import Workspace


class LakeSource:
    """One table, pinned to the snapshot that it had when it was opened."""

    def __init__(
        self, workspace: Workspace, name: str, period: Period, regions: Sequence[str]
    ) -> None:
        self.name = name
        self._table: Table = load_table(workspace, name)
        snapshot = self._table.current_snapshot()
        self.snapshot_id: int | None = snapshot.snapshot_id if snapshot else None
        self._schema: Schema = self._table.schema()
        self._field_id = self._ingestion_field()
        self._filter = _row_filter(period, regions)
        self._period = period
        self._tasks: dict[str, FileScanTask] = {}

    def units(self) -> list[Unit]:
        """Return the data files that may hold rows of the period, by metadata alone."""
        if self.snapshot_id is None:
            return []
        scan = self._table.scan(row_filter=self._filter, snapshot_id=self.snapshot_id)
        self._tasks = {task.file.file_path: task for task in scan.plan_files()}
        units = (self._unit(task) for task in self._tasks.values())
        return [unit for unit in units if self._overlaps(unit)]

    def rows(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        """Read the rows of a unit that belong to the period, deletes and renames applied."""
        scan = ArrowScan(
            self._table.metadata, self._table.io, self._schema, self._filter, case_sensitive=True
        )
        try:
            yield from scan.to_record_batches([self._tasks[unit.path]])
        except FileNotFoundError:
            raise Terminal(
                f"data file {unit.path} of {self.name}, snapshot {self.snapshot_id}, is gone",
                "it was removed while the replay ran: start the replay anew, or restore the file",
            ) from None

    def _unit(self, task: FileScanTask) -> Unit:
        file = task.file
        lower = (file.lower_bounds or {}).get(self._field_id)
        upper = (file.upper_bounds or {}).get(self._field_id)
        if lower is not None and upper is not None:
            kind = TimestamptzType()
            bounds = (int(from_bytes(kind, lower)), int(from_bytes(kind, upper)))
        else:
            # Written by a tool that keeps no bounds for fields inside a struct.
            bounds = footer_bounds(self._table.io, file.file_path, self._field_id, self.name)
        return Unit(self.name, file.file_path, *bounds, file.record_count, file.file_size_in_bytes)

    def _overlaps(self, unit: Unit) -> bool:
        period = self._period
        return unit.max_ts_us >= period.start_us and unit.min_ts_us < period.end_us_exclusive

    def _ingestion_field(self) -> int:
        try:
            field = self._schema.find_field(INGESTION_TS)
        except ValueError:
            raise Terminal(
                f"table {self.name} has no column {INGESTION_TS}",
                "replays go by it; the lake writer puts it there",
            ) from None
        if not isinstance(field.field_type, TimestamptzType):
            raise Terminal(f"{INGESTION_TS} of {self.name} is {field.field_type}, not timestamptz")
        return field.field_id


def _row_filter(period: Period, regions: Sequence[str]) -> BooleanExpression:
    # pydantic's plugin for mypy does not see that these take their arguments by position.
    start = GreaterThanOrEqual(INGESTION_TS, period.start_us)  # type: ignore[call-arg, misc]
    end = LessThan(INGESTION_TS, period.end_us_exclusive)  # type: ignore[call-arg, misc]
    inside = And(start, end)
    if not regions:
        return inside
    return And(inside, In(REGION, tuple(regions)))  # type: ignore[call-arg, misc]
