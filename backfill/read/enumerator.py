"""The files of a table that a plan is made of: listed by metadata, cut where they are too wide."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import ManifestContent

from backfill.plan.cutting import Grid, fine_grid, row_group_of, slices_of_row_group
from backfill.plan.plan import FileWithoutTimes
from backfill.plan.strict import cell_us
from backfill.plan.units import EventColumns, RowGroup, Unit, all_spans
from backfill.read.batch_columns import record_type
from backfill.read.file_columns import may_be_null, without_record
from backfill.read.footers import NoBounds, event_span, row_groups
from backfill.read.listing import DataFile, data_file, has_deletes, list_files, time_span
from backfill.read.row_filter import field_ids, file_may_match
from backfill.read.time_grid import cells, stretches
from headrace.contract import OFFSET, PARTITION, TOPIC
from headrace.landing.completeness import complete_up_to

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyiceberg.manifest import ManifestFile

    from backfill.plan.strict import Stretch
    from backfill.plan.units import Spans
    from backfill.read.source import LakeSource
    from headrace.landing.completeness import CompleteUpTo

# Footers are small and far away: waiting for them is what costs.
FOOTERS_AT_ONCE = 8


class FileList(NamedTuple):
    """The files of a period; of those that cannot meet the conditions only how many there are.

    Rows without a time are those of these files, and of files in which no row has one.
    """

    units: list[Unit]
    files_skipped: int
    rows_skipped: int
    without_time: list[FileWithoutTimes]


class FileEnumerator:
    """Lists the files of a source, and cuts them; with `scan` times are read that have no bounds."""

    def __init__(
        self, source: LakeSource, *, scan: bool = False, events: EventColumns | None = None
    ) -> None:
        self.source = source
        self._scans_times = scan
        self._events = events or EventColumns()
        self._event_ids = [source.schema.find_field(one).field_id for one in self._events.names]

    @property
    def complete_up_to(self) -> CompleteUpTo | None:
        """Up to when the table has everything, as its writers say; None where none says anything."""
        return complete_up_to(self.source.table.properties)

    def files(self) -> FileList:
        """Return the data files that may hold rows of the period, by metadata alone."""
        source, scan = self.source, self.source.scan
        manifests = self._manifests()
        others = [*field_ids(source.schema, source.conditions), *self._event_ids]
        if has_deletes(manifests) or scan.regions:
            # What is deleted where, and which partition is which region, Iceberg itself knows.
            tasks = scan.tasks().values()
            deleted = {task.file.file_path for task in tasks if task.delete_files}
            return self._found(
                [data_file(task, source.time_field_id, others) for task in tasks], deleted
            )
        files = list_files(
            source.table, manifests, scan.file_filter(), source.time_field_id, others
        )
        return self._found(list(files), set())

    def files_in(self, manifests: Sequence[ManifestFile]) -> FileList:
        """Return the files of manifests that may hold rows of the period, where no row is deleted."""
        source = self.source
        row_filter = source.scan.file_filter()
        files = list_files(source.table, manifests, row_filter, source.time_field_id)
        return self._found(list(files), set())

    def whole_span_us(self) -> tuple[int, int] | None:
        """Return from when to when the files of the snapshot are, as far as manifests tell."""
        manifests = [one for one in self._manifests() if one.content == ManifestContent.DATA]
        table, field_id = self.source.table, self.source.time_field_id
        files = list(list_files(table, manifests, AlwaysTrue(), field_id))
        lows = [one.min_ts_us for one in files if one.min_ts_us is not None]
        highs = [one.max_ts_us for one in files if one.max_ts_us is not None]
        return (min(lows), max(highs)) if lows and highs else None

    def cut(self, file: Unit, threshold_us: int) -> tuple[list[Unit], int]:
        """Cut a file that spans more time than the threshold; returns its widest row group too."""
        origin_us, events = self.source.period.start_us, self._events
        time_column = self.source.time_column
        units: list[Unit] = []
        widest_us = 0
        for group, batches in self._groups(file, (time_column, *events.names)):
            if group is None:
                grid = fine_grid(origin_us, threshold_us, file.width_us)
                whole = RowGroup(0, file.min_ts_us, file.max_ts_us, file.rows, file.size_bytes)
                held = cells(batches(), grid, time_column, events)
                slices = slices_of_row_group(file, whole, held, grid)
                return [unit.without_row_groups() for unit in slices], file.width_us
            widest_us = max(widest_us, group.width_us)
            if group.width_us > threshold_us:
                grid = fine_grid(origin_us, threshold_us, group.width_us)
                found = cells(batches(), grid, time_column, events)
                units += slices_of_row_group(file, group, found, grid)
            else:
                kept = events.kept(group.events, (group.min_ts_us, group.max_ts_us))
                units.append(row_group_of(file, replace(group, events=kept)))
        return units, widest_us

    def stretches(self, file: Unit, threshold_us: int) -> list[Stretch]:
        """Read which offsets of which Kafka partitions a file has, and when they arrived."""
        time_column = self.source.time_column
        grid = Grid(self.source.period.start_us, cell_us(threshold_us))
        columns = time_column, TOPIC, PARTITION, OFFSET
        for column in columns:
            self.source.require(column)
        return [
            stretch
            for group, batches in self._groups(file, (*columns, *self._events.names))
            for stretch in stretches(file, group, batches(), grid, time_column, self._events)
        ]

    def _manifests(self) -> list[ManifestFile]:
        table, snapshot_id = self.source.table, self.source.snapshot_id
        snapshot = None if snapshot_id is None else table.snapshot_by_id(snapshot_id)
        return [] if snapshot is None else snapshot.manifests(table.io)

    def _found(self, files: Sequence[DataFile], deleted: Collection[str]) -> FileList:
        source, scan = self.source, self.source.scan
        kept: list[Unit] = []
        skipped: list[Unit] = []
        without_time: list[FileWithoutTimes] = []
        for one, events in self._bounded(files):
            bounds = one.others[: len(source.conditions)]
            may_match = file_may_match(source.schema, source.conditions, bounds)
            if one.nulls != one.rows:
                unit = source.period.clip(self._unit(one, events, has_deletes=one.path in deleted))
                if unit is None:
                    continue
                (kept if may_match else skipped).append(unit)
            if one.nulls and may_match:
                without_time.append(FileWithoutTimes(one.path, one.nulls))
        if deleted or scan.regions:
            # Only the rows tell which of them are deleted, and of which region they are.
            counted = ((one.path, scan.without_time(one.path)) for one in without_time)
            without_time = [FileWithoutTimes(path, rows) for path, rows in counted if rows]
        return FileList(kept, len(skipped), sum(unit.rows for unit in skipped), without_time)

    def _groups(
        self, file: Unit, columns: Sequence[str]
    ) -> Iterator[tuple[RowGroup | None, Callable[[], Iterator[pa.RecordBatch]]]]:
        """Yield each row group of the period, and a way to read those columns of it.

        A file that is not read as it stands comes as one, without a row group: Iceberg's own way of
        reading knows none. Whichever columns will be asked for, that is decided by all of them.
        """
        scan, reader, schema = self.source.scan, self.source.reader, self.source.schema
        columns = tuple(dict.fromkeys(columns))
        of_table = schema if record_type(schema) is None else without_record(schema)
        with scan.open(file.path) as opened:
            if reader.columns_as_stored(file, opened, of_table) is not None:
                for group in self._row_groups(opened, file.path):
                    clipped = scan.period.clip(group)
                    if clipped is not None:
                        partly = clipped.partly or bool(scan.regions)
                        events = self._event_spans(opened, group.index)
                        reading = partial(reader.group_rows, opened, group.index, columns)
                        yield replace(clipped, partly=partly, events=events), reading
                return
        yield None, lambda: scan.rows(file, schema.select(*columns))

    def _row_groups(self, opened: pq.ParquetFile, path: str) -> list[RowGroup]:
        source = self.source
        return row_groups(opened, source.time_field_id, path, source.name, scan=self._scans_times)

    def _event_spans(self, opened: pq.ParquetFile, group: int) -> Spans:
        return tuple(
            event_span(opened, group, field_id, scan=self._scans_times)
            for field_id in self._event_ids
        )

    def _bounded(self, files: Sequence[DataFile]) -> Iterator[tuple[DataFile, Spans]]:
        """Yield files with bounds and nulls of their times, from footers where manifests have none.

        Beside the bounds of the times that the replay goes by come those of its watermarks.
        """
        first = len(self.source.conditions)
        may_lack_times = may_be_null(self.source.schema, self.source.time_column)
        missing: list[tuple[DataFile, Spans]] = []
        for one in files:
            if one.rows:
                known = one if may_lack_times else one._replace(nulls=0)
                events = tuple(map(time_span, one.others[first:]))
                is_of_no_use = known.nulls == known.rows
                if known.has_times and (is_of_no_use or None not in events):
                    yield known, events
                else:
                    missing.append((known, events))
        with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
            yield from pool.map(self._by_footer, missing)

    def _by_footer(self, known: tuple[DataFile, Spans]) -> tuple[DataFile, Spans]:
        # Written by a tool that keeps no bounds for fields inside a struct.
        file, events = known
        with self.source.scan.open(file.path) as opened:
            if None in events:
                numbers = range(opened.metadata.num_row_groups)
                events = all_spans(
                    (self._event_spans(opened, number) for number in numbers), len(events)
                )
            if file.has_times:
                return file, events
            groups = self._row_groups(opened, file.path)
            # By the file's own count: rows that the manifest knows and the file has not are missing.
            rows = opened.metadata.num_rows
        bounded = file._replace(
            min_ts_us=min((group.min_ts_us for group in groups), default=None),
            max_ts_us=max((group.max_ts_us for group in groups), default=None),
            nulls=rows - sum(group.rows for group in groups),
        )
        return bounded, events

    def _unit(self, file: DataFile, events: Spans, *, has_deletes: bool) -> Unit:
        if file.min_ts_us is None or file.max_ts_us is None:
            raise NoBounds(file.path, self.source.name)
        return Unit(
            self.source.name,
            file.path,
            file.min_ts_us,
            file.max_ts_us,
            file.rows - (file.nulls or 0),
            file.size_bytes,
            has_deletes,
            partly=has_deletes or bool(self.source.scan.regions),
            events=self._events.kept(events, (file.min_ts_us, file.max_ts_us)),
        )
