"""Files of a pinned snapshot as Iceberg itself plans and reads them: deletes and renames applied."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from pyiceberg.expressions import (
    And,
    BooleanExpression,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    Or,
)
from pyiceberg.io.pyarrow import ArrowScan

from backfill.read.file_columns import may_be_null
from headrace.contract import REGION
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table

    from backfill.plan.period import Period
    from backfill.plan.units import Unit

# They take their arguments by position, which pydantic's plugin for mypy does not see.
_at_least: Callable[..., BooleanExpression] = GreaterThanOrEqual
_less: Callable[..., BooleanExpression] = LessThan
_one_of: Callable[..., BooleanExpression] = In
_is_null: Callable[..., BooleanExpression] = IsNull


@dataclass(frozen=True)
class IcebergScan:
    """The rows of a period and its regions, in one snapshot of a table."""

    name: str
    table: Table
    snapshot_id: int | None
    period: Period
    regions: Sequence[str]
    time_column: str

    def rows(self, unit: Unit, wanted: Schema) -> Iterator[pa.RecordBatch]:
        """Read the rows of a file that lie in the unit's window."""
        window = self._inside(self.period.span_us(unit.window_us))
        yield from self._scan(unit.path, wanted, self._of_regions(window))

    def without_time(self, path: str) -> int:
        """Count the rows of a file that have no time, of those that are not deleted, in the regions."""
        wanted = self.table.schema().select(self.time_column)
        row_filter = self._of_regions(_is_null(self.time_column))
        return sum(batch.num_rows for batch in self._scan(path, wanted, row_filter))

    @cached_property
    def tasks(self) -> dict[str, FileScanTask]:
        """Iceberg's own plan: what it knows of each file, and of what is deleted in it."""
        with equality_deletes_refused(self.name, self.snapshot_id):
            return {task.file.file_path: task for task in self._planned()}

    def file_filter(self) -> BooleanExpression:
        """Return what Iceberg is to look for in files: rows of the period, and such without a time."""
        span = self.period.start_us, self.period.end_us_exclusive
        return self._of_regions(Or(self._inside(span), _is_null(self.time_column)))

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[pq.ParquetFile]:
        """Open a data file."""
        try:
            with self.table.io.new_input(path).open() as stream:
                yield pq.ParquetFile(stream)
        except FileNotFoundError:
            raise self._gone(path) from None

    def _scan(
        self, path: str, wanted: Schema, row_filter: BooleanExpression
    ) -> Iterator[pa.RecordBatch]:
        scan = ArrowScan(self.table.metadata, self.table.io, wanted, row_filter)
        try:
            batches = scan.to_record_batches([self.tasks[path]])
            yield from (batch for batch in batches if batch.num_rows)
        except FileNotFoundError:
            raise self._gone(path) from None

    def _planned(self) -> Iterator[FileScanTask]:
        wanted = [self._inside((self.period.start_us, self.period.end_us_exclusive))]
        if may_be_null(self.table.schema(), self.time_column):
            # Asked for both at once, pyiceberg compares the null of a partition with a time.
            wanted.append(_is_null(self.time_column))
        for row_filter in map(self._of_regions, wanted):
            yield from self.table.scan(row_filter, snapshot_id=self.snapshot_id).plan_files()

    def _inside(self, span: tuple[int, int]) -> BooleanExpression:
        return And(_at_least(self.time_column, span[0]), _less(self.time_column, span[1]))

    def _of_regions(self, row_filter: BooleanExpression) -> BooleanExpression:
        return And(row_filter, _one_of(REGION, self.regions)) if self.regions else row_filter

    def _gone(self, path: str) -> Terminal:
        return Terminal(
            f"data file {path} of {self.name}, snapshot {self.snapshot_id}, is gone",
            "the file was removed although the snapshot needs it: restore it, or plan the replay "
            "again, with another --run-id",
        )


@contextlib.contextmanager
def equality_deletes_refused(table: str, snapshot_id: int | None) -> Iterator[None]:
    """Say in our words that pyiceberg cannot read a snapshot, where that is the problem."""
    try:
        yield
    except (ValueError, NotImplementedError) as problem:
        if "equality deletes" not in str(problem):
            raise
        raise Terminal(
            f"snapshot {snapshot_id} of {table} has equality deletes, which headrace cannot read",
            "compact the table first (in Spark: CALL system.rewrite_data_files with"
            " delete-file-threshold 1)",
        ) from None
