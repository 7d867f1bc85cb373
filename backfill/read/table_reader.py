"""Rows of a table's data files: straight from Parquet, or through Iceberg's own projection."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
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
from pyiceberg.io.pyarrow import ArrowScan, pyarrow_to_schema
from pyiceberg.types import StructType

from backfill.columns import inside, regions_of, times_of
from backfill.file_columns import (
    holds_structs_in_lists,
    later_columns,
    same_columns,
    without_later,
)
from backfill.filtering import groups_that_may_match, mask
from backfill.footer import event_span, row_groups, scanned_event_span
from backfill.kept import completed, kept_type, without_empty_headers
from backfill.selection import may_be_null, without_record
from headrace.contract import METADATA, OFFSET, PARTITION, RECORD, REGION, TOPIC
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.types import IcebergType

    from backfill.conditions import Condition
    from backfill.event_spans import Spans
    from backfill.lanes import LaneFilter
    from backfill.period import Period
    from backfill.units import RowGroup, Unit

BATCH_ROWS = 65_536

# They take their arguments by position, which pydantic's plugin for mypy does not see.
_at_least: Callable[..., BooleanExpression] = GreaterThanOrEqual
_less: Callable[..., BooleanExpression] = LessThan
_one_of: Callable[..., BooleanExpression] = In
_is_null: Callable[..., BooleanExpression] = IsNull


@dataclass(slots=True)
class LeftOut:
    """How many rows of the replay were not delivered, as they do not meet the conditions."""

    rows: int = 0


class TableReader:
    """Reads the files of one snapshot; only rows of the period and its regions come out."""

    def __init__(  # noqa: PLR0913, PLR0917 - what is read of which table
        self,
        name: str,
        table: Table,
        snapshot_id: int | None,
        period: Period,
        regions: Sequence[str],
        time_column: str,
        *,
        scan: bool = False,
        conditions: Sequence[Condition] = (),
        event_ids: Sequence[int] = (),
    ) -> None:
        self._event_ids = tuple(event_ids)
        self.conditions = tuple(conditions)
        self.name = name
        self.table = table
        self.snapshot_id = snapshot_id
        self.period = period
        self.regions = tuple(regions)
        self.time_column = time_column
        self._scan = scan
        self._tasks: dict[str, FileScanTask] | None = None

    def rows(
        self, unit: Unit, wanted: Schema, lanes: LaneFilter | None, left_out: LeftOut
    ) -> Iterator[pa.RecordBatch]:
        """Read the wanted columns of a unit's rows, deletes and renames applied.

        With lanes, those of their offsets alone. Rows that do not meet the conditions are counted.
        """
        for batch in self._wanted(unit, wanted, lanes, left_out):
            of_lanes = batch if lanes is None else batch.filter(lanes.mask(batch))
            kept = of_lanes
            if self.conditions:
                kept = _those(of_lanes, mask(of_lanes, self.conditions))
                left_out.rows += of_lanes.num_rows - kept.num_rows
            if kept.num_rows:
                yield kept

    def _wanted(
        self, unit: Unit, wanted: Schema, lanes: LaneFilter | None, left_out: LeftOut
    ) -> Iterator[pa.RecordBatch]:
        names = [field.name for field in wanted.fields]
        kept = kept_type(wanted)
        others_than_kept = wanted if kept is None else without_record(wanted)
        with self.open(unit.path) as opened:
            rest = self._as_it_stands(unit, opened, others_than_kept)
            if rest is not None:
                groups = list(range(*(unit.row_groups or (0, opened.metadata.num_row_groups))))
                matching = groups_that_may_match(opened, groups, self.conditions)
                others = [group for group in groups if group not in matching]
                left_out.rows += self._count(unit, opened, others, lanes)
                leaves = self._leaves(rest)
                if kept is not None and RECORD in opened.schema_arrow.names:
                    leaves.append(RECORD)
                later = later_columns(others_than_kept, rest)
                for batch in self._plain_rows(unit, opened, matching, leaves):
                    yield completed(batch, names, kept, later)
                return
        if unit.row_groups is not None:
            raise self._cut_wrongly(unit)
        self._refuse_lost_nulls(others_than_kept)
        for batch in self.scan(unit, wanted):
            yield batch if kept is None else completed(without_empty_headers(batch), names, kept)

    def _as_it_stands(self, unit: Unit, opened: pq.ParquetFile, wanted: Schema) -> Schema | None:
        """Return which of the wanted columns a file has, where its rows can be taken as they are.

        Files from before a column was added are as good as any, and so are those from before the
        records' keys were kept.
        """
        if unit.has_deletes:
            return None
        try:
            held = pyarrow_to_schema(opened.schema_arrow)
        except (ValueError, TypeError):
            return None
        needed = {self.time_column.partition(".")[0], METADATA}
        rest = without_later(wanted, held, needed)
        return rest if self._is_plain(held, rest) else None

    def _count(
        self, unit: Unit, opened: pq.ParquetFile, groups: list[int], lanes: LaneFilter | None
    ) -> int:
        """Count the rows of row groups that belong to a unit, by no more columns than say so."""
        goes_by = [self.time_column, *([REGION] if self.regions else [])]
        if lanes is not None:
            goes_by += [TOPIC, PARTITION, OFFSET]
        return sum(
            batch.num_rows if lanes is None else lanes.mask(batch).true_count
            for batch in self._plain_rows(unit, opened, groups, goes_by)
        )

    def groups(
        self, file: Unit, field_id: int, columns: Sequence[str]
    ) -> Iterator[tuple[RowGroup | None, Callable[[], Iterator[pa.RecordBatch]]]]:
        """Yield each row group of the period, and a way to read those columns of it.

        A file that is not read as it stands comes as one, without a row group: Iceberg's own way of
        reading knows none. Whichever columns will be asked for, that is decided by all of them.
        """
        table = self.table.schema()
        wanted = table.select(*columns)
        columns_of_table = table if kept_type(table) is None else without_record(table)
        with self.open(file.path) as opened:
            if self._as_it_stands(file, opened, columns_of_table) is not None:
                for group in self.row_groups(opened, field_id, file.path):
                    clipped = self.period.clip_group(group)
                    if clipped is not None:
                        partly = clipped.partly or bool(self.regions)
                        events = self.event_spans(opened, group.index)
                        reading = partial(self._group_rows, opened, group.index, columns)
                        yield replace(clipped, partly=partly, events=events), reading
                return
        yield None, lambda: self.scan(file, wanted)

    def row_groups(self, opened: pq.ParquetFile, field_id: int, path: str) -> list[RowGroup]:
        """Return the row groups of a file with their bounds, from the times themselves if asked."""
        return row_groups(opened, field_id, path, self.name, scan=self._scan)

    def event_spans(self, opened: pq.ParquetFile, group: int) -> Spans:
        """Return the bounds of the columns that watermarks go by in a row group."""
        of = scanned_event_span if self._scan else event_span
        return tuple(of(opened, group, field_id) for field_id in self._event_ids)

    def scan(self, unit: Unit, wanted: Schema) -> Iterator[pa.RecordBatch]:
        """Read a file through Iceberg's own projection."""
        yield from self._scan_for(
            unit.path, wanted, self._of_regions(self._inside(self.period.span_us(unit.window_us)))
        )

    def without_time(self, path: str) -> int:
        """Count the rows of a file that have no time, of those that are not deleted, in the regions."""
        wanted = self.table.schema().select(self.time_column)
        row_filter = self._of_regions(_is_null(self.time_column))
        return sum(batch.num_rows for batch in self._scan_for(path, wanted, row_filter))

    def _scan_for(
        self, path: str, wanted: Schema, row_filter: BooleanExpression
    ) -> Iterator[pa.RecordBatch]:
        scan = ArrowScan(self.table.metadata, self.table.io, wanted, row_filter)
        try:
            batches = scan.to_record_batches([self.tasks()[path]])
            yield from (batch for batch in batches if batch.num_rows)
        except FileNotFoundError:
            raise self._gone(path) from None

    def tasks(self) -> dict[str, FileScanTask]:
        """Return Iceberg's own plan: what it knows of each file, and of what is deleted in it."""
        if self._tasks is None:
            try:
                self._tasks = {task.file.file_path: task for task in self._planned()}
            except (ValueError, NotImplementedError) as problem:
                if "equality deletes" not in str(problem):
                    raise
                raise Terminal(
                    f"snapshot {self.snapshot_id} of {self.name} has equality deletes,"
                    " which are not read here",
                    "compact the table first (in Spark: CALL system.rewrite_data_files"
                    " with delete-file-threshold 1)",
                ) from None
        return self._tasks

    def _planned(self) -> Iterator[FileScanTask]:
        wanted = [self._inside((self.period.start_us, self.period.end_us_exclusive))]
        if may_be_null(self.table.schema(), self.time_column):
            # Asked for both at once, pyiceberg compares the null of a partition with a time.
            wanted.append(_is_null(self.time_column))
        for row_filter in map(self._of_regions, wanted):
            yield from self.table.scan(row_filter, snapshot_id=self.snapshot_id).plan_files()

    def file_filter(self) -> BooleanExpression:
        """Return what Iceberg is to look for in files: rows of the period, and such without a time."""
        span = self.period.start_us, self.period.end_us_exclusive
        return self._of_regions(Or(self._inside(span), _is_null(self.time_column)))

    def _inside(self, span: tuple[int, int]) -> BooleanExpression:
        return And(_at_least(self.time_column, span[0]), _less(self.time_column, span[1]))

    def _of_regions(self, row_filter: BooleanExpression) -> BooleanExpression:
        return And(row_filter, _one_of(REGION, self.regions)) if self.regions else row_filter

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[pq.ParquetFile]:
        """Open a data file."""
        try:
            with self.table.io.new_input(path).open() as stream:
                yield pq.ParquetFile(stream)
        except FileNotFoundError:
            raise self._gone(path) from None

    def _is_plain(self, held: Schema, wanted: Schema) -> bool:
        """Whether a file has these columns as the table does: nothing renamed, nothing widened."""
        names = {field.name for field in wanted.fields}
        kept = StructType(*(field for field in held.fields if field.name in names))
        table = self.table.schema()
        # Of a struct in part the whole must be as it stands in the table.
        asked = StructType(*(field for field in table.fields if field.name in names))
        return same_columns(kept, asked)

    def _leaves(self, wanted: Schema) -> list[str]:
        """Return what is wanted as Parquet names it: columns, and what lies in structs in part."""
        table = self.table.schema()
        return [
            path
            for field in wanted.fields
            for path in (
                [field.name]
                if field.field_type == table.find_type(field.name)
                else _inside(field.name, field.field_type)
            )
        ]

    def _plain_rows(
        self, unit: Unit, opened: pq.ParquetFile, groups: list[int], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        if not groups:
            return
        span = self.period.span_us(unit.window_us)
        for batch in opened.iter_batches(BATCH_ROWS, row_groups=groups, columns=names):
            kept = _those(batch, self._mask(batch, span))
            if kept.num_rows:
                yield kept

    def _group_rows(
        self, opened: pq.ParquetFile, group: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        named = [*columns, REGION] if self.regions else list(columns)
        span = self.period.span_us(None)
        for batch in opened.iter_batches(BATCH_ROWS, row_groups=[group], columns=named):
            yield _those(batch, self._mask(batch, span))

    def _mask(self, batch: pa.RecordBatch, span: tuple[int, int]) -> pa.BooleanArray:
        mask = inside(times_of(batch, self.time_column), span)
        if not self.regions:
            return mask
        return pc.and_(mask, pc.is_in(regions_of(batch), pa.array(self.regions)))

    def _gone(self, path: str) -> Terminal:
        return Terminal(
            f"data file {path} of {self.name}, snapshot {self.snapshot_id}, is gone",
            "somebody removed it though the snapshot needs it: restore the file,"
            " or plan the replay anew, with another --run-id",
        )

    def _cut_wrongly(self, unit: Unit) -> Terminal:
        return Terminal(
            f"the plan cuts data file {unit.path} of {self.name} into row groups, though its columns"
            " are not the table's: its rows would come more than once",
            "an earlier version of headrace made the plan: begin the replay anew, with another"
            " --run-id",
        )

    def _refuse_lost_nulls(self, wanted: Schema) -> None:
        """Refuse what pyiceberg would change: it reads a missing list of structs as an empty one."""
        held = [field.name for field in wanted.fields if holds_structs_in_lists(field.field_type)]
        if held:
            raise Terminal(
                f"{self.name} has files with deletes or with other columns than the table,"
                f" and lists or maps of records ({', '.join(held)}), which cannot be read exactly",
                "compact the table first, so that its files are the table's as they stand",
            )


def _inside(path: str, kind: IcebergType) -> Iterator[str]:
    if not isinstance(kind, StructType):
        yield path
        return
    for field in kind.fields:
        yield from _inside(f"{path}.{field.name}", field.field_type)


def _those(batch: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    # Most batches lie in the period as a whole, and a filter would copy them.
    return batch if mask.true_count == batch.num_rows else batch.filter(mask)
