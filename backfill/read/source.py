"""A table of the lake as a source: its pinned snapshot and schema, and the rows of a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.types import TimestampType, TimestamptzType

from backfill.read.file_columns import arrival_column, seen_by_applications, selected
from backfill.read.footers import bytes_by_column
from backfill.read.iceberg_scan import IcebergScan
from backfill.read.table_reader import FilteredRows, TableReader
from headrace.contract import INGESTION_TS, REGION
from headrace.errors import Terminal, UsageError
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from backfill.plan.conditions import Condition
    from backfill.plan.period import Period
    from backfill.plan.units import Unit
    from backfill.read.step_records import OffsetFilter
    from headrace.config.workspace.workspace import Workspace


class LakeSource:
    """One table, pinned to a snapshot: the one given, or the one that it has now.

    One that was opened already needs no workspace. A thin one reads of the columns that every replay goes by no more than that takes, with arrivals
    where records are measured against them. As stored, its rows have what is kept of the Kafka
    records, too, which applications do not see.
    """

    def __init__(  # noqa: PLR0913 - what is read of which table
        self,
        workspace: Workspace | None,
        name: str,
        period: Period,
        regions: Sequence[str] = (),
        *,
        snapshot_id: int | None = None,
        schema_id: int | None = None,
        columns: Sequence[str] = (),
        time_column: str = INGESTION_TS,
        conditions: Sequence[Condition] = (),
        thin: bool = False,
        as_stored: bool = True,
        with_arrivals: bool = False,
        opened: Table | None = None,
    ) -> None:
        self.name = name
        self.period = period
        self.conditions = tuple(conditions)
        self.time_column = time_column
        if opened is None:
            if workspace is None:
                raise UsageError(f"no workspace says where {name} is")
            opened = load_table(workspace, name)
        self.table: Table = opened
        current = self.table.current_snapshot()
        self.snapshot_id = snapshot_id or (current.snapshot_id if current else None)
        if self.snapshot_id is not None and self.table.snapshot_by_id(self.snapshot_id) is None:
            raise Terminal(
                f"snapshot {self.snapshot_id} of {name} is gone",
                "it has expired: plan the replay again, with another --run-id",
            )
        if schema_id is not None:
            self._pin(schema_id)
        self.schema: Schema = self.table.schema()
        self.time_field_id = self._time_field()
        self.require(REGION if regions else time_column)
        self.scan = IcebergScan(name, self.table, self.snapshot_id, period, regions, time_column)
        self.reader = TableReader(self.scan, self.conditions)
        goes_by = self._least(regions, with_arrivals=with_arrivals) if thin else None
        self.columns = (
            selected(name, self.schema, columns, time_column, goes_by)
            if as_stored or thin
            else seen_by_applications(name, self.schema, columns, time_column)
        )

    def rows(
        self,
        unit: Unit,
        offsets: OffsetFilter | None = None,
        filtered: FilteredRows | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows of a unit that belong to the period, deletes and renames applied.

        Those that do not meet the conditions are counted as filtered.
        """
        yield from self.reader.rows(unit, self.columns, offsets, filtered or FilteredRows())

    @property
    def all_columns(self) -> list[str]:
        """All columns of the table, read or not."""
        return [field.name for field in self.schema.fields]

    def bytes_by_column(self, path: str) -> dict[str, int]:
        """Return how many bytes each column takes in a data file, by its footer."""
        with self.scan.open(path) as opened:
            return bytes_by_column(opened.metadata)

    def require(self, column: str) -> None:
        """Refuse a table without a column that the replay goes by."""
        try:
            self.schema.find_field(column)
        except ValueError:
            raise Terminal(
                f"table {self.name} has no column {column} to order its rows by",
                self._advice(),
            ) from None

    def _least(self, regions: Sequence[str], *, with_arrivals: bool) -> list[str]:
        """Return the columns that this replay goes by, and no others."""
        least = [self.time_column, *([REGION] if regions else [])]
        if with_arrivals:
            least.append(arrival_column(self.schema, self.time_column))
        return list(dict.fromkeys(least))

    def _pin(self, schema_id: int) -> None:
        """Look at the table by a schema that it has had, whatever was renamed or widened since."""
        if schema_id not in self.table.schemas():
            raise Terminal(
                f"schema {schema_id} of {self.name}, which this run reads by, is gone",
                "it was removed with its snapshots: plan the replay again, with another --run-id",
            )
        pinned = {"current_schema_id": schema_id}
        self.table.metadata = self.table.metadata.model_copy(update=pinned)

    def _time_field(self) -> int:
        self.require(self.time_column)
        field = self.schema.find_field(self.time_column)
        if not isinstance(field.field_type, (TimestamptzType, TimestampType)):
            raise Terminal(
                f"{self.time_column} of {self.name} is {field.field_type}, not a time in "
                "microseconds",
                self._advice(),
            )
        return field.field_id

    def _advice(self) -> str:
        times = [
            name
            for name in self.schema.column_names
            if isinstance(self.schema.find_type(name), (TimestamptzType, TimestampType))
        ]
        return (
            f"name its time column with --time-column: {', '.join(times) or 'it has none'} (for a "
            "live run that follows it: follow.time_column)"
        )
