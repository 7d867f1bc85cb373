"""A table of the lake as a source: its pinned snapshot, its units, the rows of a unit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import ManifestContent
from pyiceberg.types import TimestampType, TimestamptzType

from backfill.cutting import Grid, fine_grid, row_group_of, slices_of_row_group
from backfill.event_spans import all_spans
from backfill.footer import NoBounds, bytes_by_column
from backfill.gridding import NO_COLUMNS, cells, stretches
from backfill.iceberg_bounds import field_ids, file_may_match
from backfill.listing import Listed, has_deletes, listed, time_span
from backfill.plan import FileWithoutTimes
from backfill.selection import (
    always_read,
    arrival_column,
    may_be_null,
    seen_by_applications,
    selected,
)
from backfill.strict import cell_us
from backfill.table_reader import LeftOut, TableReader
from backfill.units import RowGroup, Unit
from headrace.contract import INGESTION_TS, OFFSET, PARTITION, REGION, TOPIC
from headrace.errors import Terminal
from headrace.iceberg.bounds import time_bound
from headrace.iceberg.catalog import load_table
from headrace.landing.completeness import complete_up_to

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table

    from backfill.conditions import Condition
    from backfill.event_spans import EventColumns, Spans
    from backfill.lanes import LaneFilter
    from backfill.period import Period
    from backfill.strict import Stretch
    from headrace.config.workspace import Workspace
    from headrace.landing.completeness import CompleteUpTo

# Footers are small and far away: waiting for them is what costs.
FOOTERS_AT_ONCE = 8


class Found(NamedTuple):
    """The files of a period; of those that cannot meet the conditions only how many there are.

    Rows without a time are those of these files, and of files in which no row has one.
    """

    units: list[Unit]
    files_skipped: int
    rows_skipped: int
    without_time: list[FileWithoutTimes]


class LakeSource:
    """One table, pinned to a snapshot: the one given, or the one that it has now.

    A thin one reads of the columns that every replay goes by no more than that takes, with arrivals
    where records are measured against them. As stored, its
    rows have what is kept of the Kafka records, too, which applications do not see.
    """

    def __init__(  # noqa: PLR0913 - what is read of which table
        self,
        workspace: Workspace,
        name: str,
        period: Period,
        regions: Sequence[str],
        *,
        snapshot_id: int | None = None,
        schema_id: int | None = None,
        columns: Sequence[str] = (),
        time_column: str = INGESTION_TS,
        scan: bool = False,
        conditions: Sequence[Condition] = (),
        thin: bool = False,
        as_stored: bool = True,
        with_arrivals: bool = False,
        events: EventColumns = NO_COLUMNS,
    ) -> None:
        self.name = name
        self.conditions = tuple(conditions)
        self.time_column = time_column
        self.table: Table = load_table(workspace, name)
        current = self.table.current_snapshot()
        self.snapshot_id = snapshot_id or (current.snapshot_id if current else None)
        if self.snapshot_id is not None and self.table.snapshot_by_id(self.snapshot_id) is None:
            raise Terminal(
                f"snapshot {self.snapshot_id} of {name} is gone",
                "it was expired: plan the replay anew, with another --run-id",
            )
        if schema_id is not None:
            self._pin(schema_id)
        self._schema: Schema = self.table.schema()
        self._field_id = self._time_field()
        self._require(REGION if regions else time_column)
        self._events = events
        self._event_ids = [self._schema.find_field(one).field_id for one in events.names]
        self._period = period
        self._reader = TableReader(
            name,
            self.table,
            self.snapshot_id,
            period,
            regions,
            time_column,
            scan=scan,
            conditions=self.conditions,
            event_ids=self._event_ids,
        )
        goes_by = self._least(regions, with_arrivals=with_arrivals) if thin else None
        self.columns = (
            selected(name, self._schema, columns, time_column, goes_by)
            if as_stored or thin
            else seen_by_applications(name, self._schema, columns, time_column)
        )

    @property
    def schema_id(self) -> int:
        """The schema whose columns are read."""
        return self._schema.schema_id

    @property
    def complete_up_to(self) -> CompleteUpTo | None:
        """Up to when the table has everything, as its writers say; None where none says anything."""
        return complete_up_to(self.table.properties)

    def files(self) -> Found:
        """Return the data files that may hold rows of the period, by metadata alone."""
        snapshot = None if self.snapshot_id is None else self.table.snapshot_by_id(self.snapshot_id)
        if snapshot is None:
            return Found([], 0, 0, [])
        others = [*field_ids(self._schema, self.conditions), *self._event_ids]
        manifests = snapshot.manifests(self.table.io)
        if has_deletes(manifests) or self._reader.regions:
            # What is deleted where, and which partition is which region, Iceberg itself knows.
            tasks = self._reader.tasks().values()
            deleted = {task.file.file_path for task in tasks if task.delete_files}
            found = [_by_task(task, self._field_id, others) for task in tasks]
        else:
            row_filter = self._reader.file_filter()
            deleted = set()
            found = list(listed(self.table, manifests, row_filter, self._field_id, others))
        return self._found(found, deleted)

    def files_in(self, manifests: Sequence[ManifestFile]) -> Found:
        """Return the files of manifests that may hold rows of the period, where no row is deleted."""
        row_filter = self._reader.file_filter()
        return self._found(list(listed(self.table, manifests, row_filter, self._field_id)), set())

    def _found(self, listed_files: Sequence[Listed], deleted: Collection[str]) -> Found:
        kept: list[Unit] = []
        skipped: list[Unit] = []
        without_time: list[FileWithoutTimes] = []
        for one, events in self._bounded(listed_files):
            bounds = one.others[: len(self.conditions)]
            may_match = file_may_match(self._schema, self.conditions, bounds)
            if one.nulls != one.rows:
                unit = self._period.clip(self._unit(one, events, has_deletes=one.path in deleted))
                if unit is None:
                    continue
                (kept if may_match else skipped).append(unit)
            if one.nulls and may_match:
                without_time.append(FileWithoutTimes(one.path, one.nulls))
        if deleted or self._reader.regions:
            # Only the rows tell which of them are deleted, and of which region they are.
            counted = (
                (path, self._reader.without_time(path))
                for path in [one.path for one in without_time]
            )
            without_time = [FileWithoutTimes(path, rows) for path, rows in counted if rows]
        return Found(kept, len(skipped), sum(unit.rows for unit in skipped), without_time)

    def whole_span_us(self) -> tuple[int, int] | None:
        """Return from when to when the files of the snapshot are, as far as manifests tell."""
        snapshot = None if self.snapshot_id is None else self.table.snapshot_by_id(self.snapshot_id)
        if snapshot is None:
            return None
        manifests = [
            one for one in snapshot.manifests(self.table.io) if one.content == ManifestContent.DATA
        ]
        found = list(listed(self.table, manifests, AlwaysTrue(), self._field_id))
        lows = [one.min_ts_us for one in found if one.min_ts_us is not None]
        highs = [one.max_ts_us for one in found if one.max_ts_us is not None]
        return (min(lows), max(highs)) if lows and highs else None

    def cut(self, file: Unit, threshold_us: int) -> tuple[list[Unit], int]:
        """Cut a file that spans more time than the threshold; returns its widest row group too."""
        origin_us, events = self._period.start_us, self._events
        units: list[Unit] = []
        widest_us = 0
        columns = tuple(dict.fromkeys((self.time_column, *events.names)))
        for group, batches in self._reader.groups(file, self._field_id, columns):
            if group is None:
                grid = fine_grid(origin_us, threshold_us, file.width_us)
                whole = RowGroup(0, file.min_ts_us, file.max_ts_us, file.rows, file.size_bytes)
                held = cells(batches(), grid, self.time_column, events)
                slices = slices_of_row_group(file, whole, held, grid)
                return [unit.without_row_groups() for unit in slices], file.width_us
            widest_us = max(widest_us, group.width_us)
            if group.width_us > threshold_us:
                grid = fine_grid(origin_us, threshold_us, group.width_us)
                found = cells(batches(), grid, self.time_column, events)
                units += slices_of_row_group(file, group, found, grid)
            else:
                kept = events.kept(group.events, (group.min_ts_us, group.max_ts_us))
                units.append(row_group_of(file, replace(group, events=kept)))
        return units, widest_us

    def stretches(self, file: Unit, threshold_us: int) -> list[Stretch]:
        """Read which offsets of which Kafka partitions a file has, and when they arrived."""
        grid = Grid(self._period.start_us, cell_us(threshold_us))
        columns = self.time_column, TOPIC, PARTITION, OFFSET
        for column in columns:
            self._require(column)
        read = tuple(dict.fromkeys((*columns, *self._events.names)))
        return [
            stretch
            for group, batches in self._reader.groups(file, self._field_id, read)
            for stretch in stretches(file, group, batches(), grid, self.time_column, self._events)
        ]

    def rows(
        self, unit: Unit, lanes: LaneFilter | None = None, left_out: LeftOut | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows of a unit that belong to the period, deletes and renames applied.

        Those that do not meet the conditions are counted as left out.
        """
        counted = LeftOut() if left_out is None else left_out
        yield from self._reader.rows(unit, self.columns, lanes, counted)

    @property
    def all_columns(self) -> list[str]:
        """All columns of the table, read or not."""
        return [field.name for field in self._schema.fields]

    def with_those_always_read(self, columns: Iterable[str]) -> set[str]:
        """Return columns and those that every replay goes by."""
        return {*columns, *always_read(self._schema, self.time_column)}

    def bytes_by_column(self, path: str) -> dict[str, int]:
        """Return how many bytes each column takes in a data file, by its footer."""
        with self._reader.open(path) as opened:
            return bytes_by_column(opened.metadata)

    def _least(self, regions: Sequence[str], *, with_arrivals: bool) -> list[str]:
        """Return the columns that this replay goes by, and no others."""
        least = [self.time_column, *([REGION] if regions else [])]
        if with_arrivals:
            least.append(arrival_column(self._schema, self.time_column))
        return list(dict.fromkeys(least))

    def _pin(self, schema_id: int) -> None:
        """Look at the table by a schema that it has had, whatever was renamed or widened since."""
        if schema_id not in self.table.schemas():
            raise Terminal(
                f"schema {schema_id} of {self.name}, by which its columns are read, is gone",
                "it was removed with the snapshots of its time: plan the replay anew, with another"
                " --run-id",
            )
        pinned = {"current_schema_id": schema_id}
        self.table.metadata = self.table.metadata.model_copy(update=pinned)

    def _bounded(self, found: Sequence[Listed]) -> Iterator[tuple[Listed, Spans]]:
        """Yield files with bounds and nulls of their times, from footers where manifests have none.

        Beside the bounds of the times that the replay goes by come those of its watermarks.
        """
        first = len(found[0].others) - len(self._event_ids) if found else 0
        may_lack_times = may_be_null(self._schema, self.time_column)
        missing: list[tuple[Listed, Spans]] = []
        for one in found:
            if one.rows:
                known = one if may_lack_times else one._replace(nulls=0)
                events = tuple(map(time_span, one.others[first:]))
                is_of_no_use = known.nulls == known.rows
                if _is_told(known) and (is_of_no_use or None not in events):
                    yield known, events
                else:
                    missing.append((known, events))
        with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
            yield from pool.map(self._by_footer, missing)

    def _by_footer(self, known: tuple[Listed, Spans]) -> tuple[Listed, Spans]:
        # Written by a tool that keeps no bounds for fields inside a struct.
        file, events = known
        with self._reader.open(file.path) as opened:
            if None in events:
                numbers = range(opened.metadata.num_row_groups)
                found = (self._reader.event_spans(opened, number) for number in numbers)
                events = all_spans(found, len(events))
            if _is_told(file):
                return file, events
            groups = self._reader.row_groups(opened, self._field_id, file.path)
            # By the file's own count: rows that the manifest knows and the file has not are missing.
            rows = opened.metadata.num_rows
        bounded = file._replace(
            min_ts_us=min((group.min_ts_us for group in groups), default=None),
            max_ts_us=max((group.max_ts_us for group in groups), default=None),
            nulls=rows - sum(group.rows for group in groups),
        )
        return bounded, events

    def _unit(self, file: Listed, events: Spans, *, has_deletes: bool) -> Unit:
        if file.min_ts_us is None or file.max_ts_us is None:
            raise NoBounds(file.path, self.name)
        return Unit(
            self.name,
            file.path,
            file.min_ts_us,
            file.max_ts_us,
            file.rows - (file.nulls or 0),
            file.size_bytes,
            has_deletes,
            partly=has_deletes or bool(self._reader.regions),
            events=self._events.kept(events, (file.min_ts_us, file.max_ts_us)),
        )

    def _time_field(self) -> int:
        self._require(self.time_column)
        field = self._schema.find_field(self.time_column)
        if not isinstance(field.field_type, (TimestamptzType, TimestampType)):
            raise Terminal(
                f"{self.time_column} of {self.name} is {field.field_type}, no time in microseconds",
                self._advice(),
            )
        return field.field_id

    def _require(self, column: str) -> None:
        try:
            self._schema.find_field(column)
        except ValueError:
            raise Terminal(
                f"table {self.name} has no column {column}, which is to say the order of its rows",
                self._advice(),
            ) from None

    def _advice(self) -> str:
        times = [
            name
            for name in self._schema.column_names
            if isinstance(self._schema.find_type(name), (TimestamptzType, TimestampType))
        ]
        return (
            f"name its column of times by --time-column: {', '.join(times) or 'it has none'}"
            " (where a live run follows it, by follow.time_column)"
        )


def _is_told(file: Listed) -> bool:
    """Whether a file's manifest says all of its times that a plan needs."""
    if file.nulls is None:
        return False
    return file.nulls == file.rows or None not in {file.min_ts_us, file.max_ts_us}


def _by_task(task: FileScanTask, field_id: int, others: Sequence[int]) -> Listed:
    file = task.file
    lower, upper = file.lower_bounds or {}, file.upper_bounds or {}
    return Listed(
        file.file_path,
        file.record_count,
        file.file_size_in_bytes,
        time_bound(lower.get(field_id)),
        time_bound(upper.get(field_id)),
        (file.null_value_counts or {}).get(field_id),
        tuple((lower.get(one), upper.get(one)) for one in others),
    )
