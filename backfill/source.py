"""A table of the lake as a source: its pinned snapshot, its units, the rows of a unit."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import And, BooleanExpression, GreaterThanOrEqual, In, LessThan
from pyiceberg.io.pyarrow import ArrowScan, pyarrow_to_schema
from pyiceberg.types import TimestamptzType

from backfill.columns import ingestion_times, inside, regions_of
from backfill.cutting import Cell, Grid, runs_of_row_groups, slices_of_row_group
from backfill.file_columns import holds_structs_in_lists, same_columns
from backfill.footer import NoBounds, row_groups
from backfill.units import RowGroup, Unit
from headrace.contract import INGESTION_TS, REGION
from headrace.errors import Terminal
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table

    from backfill.period import Period
    from headrace.config.workspace import Workspace

BATCH_ROWS = 65_536

# They take their arguments by position, which pydantic's plugin for mypy does not see.
_at_least: Callable[..., BooleanExpression] = GreaterThanOrEqual
_less: Callable[..., BooleanExpression] = LessThan
_one_of: Callable[..., BooleanExpression] = In


class LakeSource:
    """One table, pinned to a snapshot: the one given, or the one that it has now."""

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        period: Period,
        regions: Sequence[str],
        snapshot_id: int | None = None,
    ) -> None:
        self.name = name
        self.table: Table = load_table(workspace, name)
        current = self.table.current_snapshot()
        self.snapshot_id = snapshot_id or (current.snapshot_id if current else None)
        if self.snapshot_id is not None and self.table.snapshot_by_id(self.snapshot_id) is None:
            raise Terminal(
                f"snapshot {self.snapshot_id} of {name} is gone",
                "it was expired: plan the replay anew, with another --run-id",
            )
        self._schema: Schema = self.table.schema()
        self._field_id = self._ingestion_field()
        self._period = period
        self._regions = tuple(regions)
        self._tasks: dict[str, FileScanTask] = {}

    def files(self) -> list[Unit]:
        """Return the data files that may hold rows of the period, by metadata alone."""
        if self.snapshot_id is None:
            return []
        span = self._period.start_us, self._period.end_us_exclusive
        scan = self.table.scan(row_filter=self._filter(span), snapshot_id=self.snapshot_id)
        self._tasks = {task.file.file_path: task for task in scan.plan_files()}
        units = (self._unit(task) for task in self._tasks.values())
        return [clipped for unit in units if (clipped := self._period.clip(unit)) is not None]

    def cut(self, file: Unit, threshold_us: int) -> list[Unit]:
        """Cut a file that spans more time than the threshold."""
        grid = Grid(self._period.start_us, max(1, threshold_us))
        with self._open(file.path) as opened:
            if self._is_plain(file, opened):
                return self._cut_plain(file, opened, threshold_us, grid)
        cells = self._cells(self._scan(file, (INGESTION_TS,)), grid)
        group = RowGroup(0, file.min_ts_us, file.max_ts_us, file.rows, file.size_bytes)
        slices = slices_of_row_group(file, group, cells, grid)
        return [unit.without_row_groups() for unit in slices]

    def rows(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        """Read the rows of a unit that belong to the period, deletes and renames applied."""
        with self._open(unit.path) as opened:
            if self._is_plain(unit, opened):
                groups = range(*(unit.row_groups or (0, opened.metadata.num_row_groups)))
                span = self._period.span_us(unit.window_us)
                for batch in opened.iter_batches(BATCH_ROWS, row_groups=list(groups)):
                    kept = batch.filter(self._mask(batch, span))
                    if kept.num_rows:
                        yield kept
                return
        self._refuse_lost_nulls()
        yield from self._scan(unit, ("*",))

    def _cut_plain(
        self, file: Unit, opened: pq.ParquetFile, threshold_us: int, grid: Grid
    ) -> list[Unit]:
        groups = row_groups(opened, self._field_id, file.path, self.name)
        kept = [one for group in groups if (one := self._period.clip_group(group)) is not None]
        units, too_wide = runs_of_row_groups(file, kept, threshold_us)
        for group in too_wide:
            batches = opened.iter_batches(
                BATCH_ROWS, row_groups=[group.index], columns=[INGESTION_TS]
            )
            units += slices_of_row_group(file, group, self._cells(batches, grid), grid)
        return units

    def _mask(self, batch: pa.RecordBatch, span: tuple[int, int]) -> pa.BooleanArray:
        mask = inside(ingestion_times(batch), span)
        if not self._regions:
            return mask
        return pc.and_(mask, pc.is_in(regions_of(batch), pa.array(self._regions)))

    def _cells(self, batches: Iterable[pa.RecordBatch], grid: Grid) -> list[Cell]:
        """Find which cells of the grid hold rows of the period."""
        found: dict[int, tuple[int, int, int]] = defaultdict(lambda: (2**63, -(2**63), 0))
        span = self._period.start_us, self._period.end_us_exclusive
        for batch in batches:
            times = ingestion_times(batch)
            kept = times.filter(inside(times, span))
            numbers = pc.divide(pc.subtract(kept, grid.origin_us), grid.cell_us)
            table = pa.table({"cell": numbers, "time": kept})
            grouped = table.group_by("cell").aggregate(
                [("time", "min"), ("time", "max"), ("time", "count")]
            )
            for row in grouped.to_pylist():
                low, high, rows = found[row["cell"]]
                found[row["cell"]] = (
                    min(low, row["time_min"]),
                    max(high, row["time_max"]),
                    rows + row["time_count"],
                )
        return [Cell(number, *bounds) for number, bounds in found.items()]

    def _is_plain(self, unit: Unit, opened: pq.ParquetFile) -> bool:
        """Whether a file's rows are the table's as they stand: nothing deleted, nothing renamed."""
        if unit.has_deletes:
            return False
        try:
            held = pyarrow_to_schema(opened.schema_arrow)
        except (ValueError, TypeError):
            return False
        return same_columns(held.as_struct(), self._schema.as_struct())

    def _scan(self, unit: Unit, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Read a file through Iceberg's own projection."""
        if unit.path not in self._tasks:
            self.files()
        projected = self._schema if columns == ("*",) else self._schema.select(*columns)
        row_filter = self._filter(self._period.span_us(unit.window_us))
        scan = ArrowScan(self.table.metadata, self.table.io, projected, row_filter)
        try:
            batches = scan.to_record_batches([self._tasks[unit.path]])
            yield from (batch for batch in batches if batch.num_rows)
        except FileNotFoundError:
            raise self._gone(unit.path) from None

    @contextlib.contextmanager
    def _open(self, path: str) -> Iterator[pq.ParquetFile]:
        try:
            with self.table.io.new_input(path).open() as stream:
                yield pq.ParquetFile(stream)
        except FileNotFoundError:
            raise self._gone(path) from None

    def _gone(self, path: str) -> Terminal:
        return Terminal(
            f"data file {path} of {self.name}, snapshot {self.snapshot_id}, is gone",
            "it was removed while the replay ran: start the replay anew, or restore the file",
        )

    def _unit(self, task: FileScanTask) -> Unit:
        file = task.file
        lower = (file.lower_bounds or {}).get(self._field_id)
        upper = (file.upper_bounds or {}).get(self._field_id)
        if lower is not None and upper is not None:
            kind = TimestamptzType()
            bounds = (int(from_bytes(kind, lower)), int(from_bytes(kind, upper)))
        else:
            # Written by a tool that keeps no bounds for fields inside a struct.
            with self._open(file.file_path) as opened:
                groups = row_groups(opened, self._field_id, file.file_path, self.name)
            if not groups:
                raise NoBounds(file.file_path, self.name)
            bounds = (
                min(group.min_ts_us for group in groups),
                max(group.max_ts_us for group in groups),
            )
        return Unit(
            self.name,
            file.file_path,
            *bounds,
            file.record_count,
            file.file_size_in_bytes,
            bool(task.delete_files),
        )

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

    def _refuse_lost_nulls(self) -> None:
        """Refuse what pyiceberg would change: it reads a missing list of structs as an empty one."""
        held = [
            field.name for field in self._schema.fields if holds_structs_in_lists(field.field_type)
        ]
        if held:
            raise Terminal(
                f"{self.name} has files with deletes or with other columns than the table,"
                f" and lists or maps of records ({', '.join(held)}), which cannot be read exactly",
                "compact the table first, so that its files are the table's as they stand",
            )

    def _filter(self, span: tuple[int, int]) -> BooleanExpression:
        inside_span = And(_at_least(INGESTION_TS, span[0]), _less(INGESTION_TS, span[1]))
        return And(inside_span, _one_of(REGION, self._regions)) if self._regions else inside_span
