"""Rows of a table's data files: straight from Parquet, or through Iceberg's own projection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.schema import Schema

from backfill.read.batch_columns import (
    complete_columns,
    inside,
    record_type,
    regions_of,
    without_empty_headers,
)
from backfill.read.file_columns import (
    later_columns,
    same_columns,
    with_structs_in_lists,
    without_later,
    without_record,
)
from backfill.read.row_filter import groups_that_may_match, mask
from headrace.contract import METADATA, OFFSET, PARTITION, RECORD, REGION, TOPIC
from headrace.errors import Terminal
from headrace.records.arrow import times_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from backfill.plan.conditions import Condition
    from backfill.plan.units import Unit
    from backfill.read.iceberg_scan import IcebergScan
    from backfill.read.step_records import OffsetFilter

BATCH_ROWS = 65_536


@dataclass(slots=True)
class FilteredRows:
    """How many rows of the replay were not delivered, as they do not meet the conditions."""

    rows: int = 0


class TableReader:
    """Reads units: straight from Parquet where a file is as the table, else through Iceberg's scan."""

    def __init__(self, scan: IcebergScan, conditions: Sequence[Condition] = ()) -> None:
        self._scan = scan
        self._conditions = tuple(conditions)

    def rows(
        self, unit: Unit, wanted: Schema, offsets: OffsetFilter | None, filtered: FilteredRows
    ) -> Iterator[pa.RecordBatch]:
        """Read the wanted columns of a unit's rows, deletes and renames applied.

        With offsets, those of them alone. Rows that do not meet the conditions are counted.
        """
        for batch in self._wanted(unit, wanted, offsets, filtered):
            of_offsets = batch if offsets is None else batch.filter(offsets.mask(batch))
            kept = of_offsets
            if self._conditions:
                kept = _those(of_offsets, mask(of_offsets, self._conditions))
                filtered.rows += of_offsets.num_rows - kept.num_rows
            if kept.num_rows:
                yield kept

    def _wanted(
        self, unit: Unit, wanted: Schema, offsets: OffsetFilter | None, filtered: FilteredRows
    ) -> Iterator[pa.RecordBatch]:
        names = [field.name for field in wanted.fields]
        kept = record_type(wanted)
        others_than_kept = wanted if kept is None else without_record(wanted)
        with self._scan.open(unit.path) as opened:
            rest = self.columns_as_stored(unit, opened, others_than_kept)
            if rest is not None:
                groups = list(range(*(unit.row_groups or (0, opened.metadata.num_row_groups))))
                matching = groups_that_may_match(opened, groups, self._conditions)
                others = [group for group in groups if group not in matching]
                filtered.rows += self._count(unit, opened, others, offsets)
                leaves = self._leaves(rest)
                if kept is not None and RECORD in opened.schema_arrow.names:
                    leaves.append(RECORD)
                later = later_columns(others_than_kept, rest)
                for batch in self.plain_rows(opened, matching, leaves, unit.window_us):
                    yield complete_columns(batch, names, kept, later)
                return
        if unit.row_groups is not None:
            raise Terminal(
                f"the plan cuts data file {unit.path} of {self._scan.name} into row groups, "
                "although its columns differ from the table's: its rows would be read more than "
                "once",
                "an earlier version of headrace made the plan: start the replay again, with "
                "another --run-id",
            )
        self._refuse_lost_nulls(others_than_kept)
        for batch in self._scan.rows(unit, wanted):
            exact = batch if kept is None else without_empty_headers(batch)
            yield complete_columns(exact, names, kept, {})

    def columns_as_stored(
        self, unit: Unit, opened: pq.ParquetFile, wanted: Schema
    ) -> Schema | None:
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
        needed = {self._scan.time_column.partition(".")[0], METADATA}
        rest = without_later(wanted, held, needed)
        return rest if self._is_plain(held, rest) else None

    def _count(
        self, unit: Unit, opened: pq.ParquetFile, groups: list[int], offsets: OffsetFilter | None
    ) -> int:
        """Count the rows of row groups that belong to a unit, by no more columns than say so."""
        columns = () if offsets is None else (TOPIC, PARTITION, OFFSET)
        return sum(
            batch.num_rows if offsets is None else offsets.mask(batch).true_count
            for batch in self.plain_rows(opened, groups, columns, unit.window_us)
        )

    def _is_plain(self, held: Schema, wanted: Schema) -> bool:
        """Whether a file has these columns as the table does: nothing renamed, nothing widened."""
        names = {field.name for field in wanted.fields}
        # Of a struct in part the whole must be as it stands in the table.
        kept, asked = (
            Schema(*(field for field in schema.fields if field.name in names))
            for schema in (held, self._scan.table.schema())
        )
        return same_columns(kept, asked)

    def _leaves(self, wanted: Schema) -> list[str]:
        """Return what is wanted as Parquet names it: columns, and what lies in structs in part."""
        table, leaves = self._scan.table.schema(), list[str]()
        for field in wanted.fields:
            if field.field_type == table.find_type(field.name):
                leaves.append(field.name)
            else:
                inside = Schema(field)
                paths = inside.column_names
                leaves += [path for path in paths if inside.find_type(path).is_primitive]
        return leaves

    def plain_rows(
        self,
        opened: pq.ParquetFile,
        groups: Sequence[int],
        columns: Sequence[str],
        window_us: tuple[int, int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Read columns of row groups, of the rows in the period, and in a window of it."""
        span = self._scan.period.span_us(window_us)
        goes_by = [self._scan.time_column, *([REGION] if self._scan.regions else [])]
        named = list(dict.fromkeys([*columns, *goes_by]))
        for batch in opened.iter_batches(BATCH_ROWS, row_groups=groups, columns=named):
            kept = _those(batch, self._mask(batch, span))
            if kept.num_rows:
                yield kept

    def _mask(self, batch: pa.RecordBatch, span: tuple[int, int]) -> pa.BooleanArray:
        mask = inside(times_of(batch, self._scan.time_column), span)
        if not self._scan.regions:
            return mask
        return pc.and_(mask, pc.is_in(regions_of(batch), pa.array(self._scan.regions)))

    def _refuse_lost_nulls(self, wanted: Schema) -> None:
        """Refuse what pyiceberg would change: it reads a missing list of structs as an empty one."""
        if held := with_structs_in_lists(wanted):
            raise Terminal(
                f"{self._scan.name} has files with deletes or with other columns than the table,"
                f" and lists or maps of records ({', '.join(held)}), which cannot be read exactly",
                "compact the table first, so that its files have no deletes and have the table's "
                "columns",
            )


def _those(batch: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    # Most batches lie in the period as a whole, and a filter would copy them.
    return batch if mask.true_count == batch.num_rows else batch.filter(mask)
