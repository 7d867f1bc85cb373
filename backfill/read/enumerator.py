"""The files of a table that a plan is made of: listed by metadata, cut where they are too wide."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import ManifestContent

from backfill.plan.cutting import Grid, fine_grid
from backfill.plan.plan import FileWithoutTimes
from backfill.plan.strict import cell_us
from backfill.plan.units import EventColumns, Unit, all_spans, hull
from backfill.read.batch_columns import record_type
from backfill.read.file_columns import may_be_null, without_record
from backfill.read.footers import NoBounds, event_span, row_groups
from backfill.read.listing import has_deletes, list_files, planned_file, time_span
from backfill.read.row_filter import field_ids, file_may_match
from backfill.read.time_grid import slices, stretches
from headrace.contract import OFFSET, PARTITION, TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyiceberg.manifest import ManifestFile

    from backfill.plan.strict import Stretch
    from backfill.plan.units import Span, Spans
    from backfill.read.footers import RowGroup
    from backfill.read.source import LakeSource
    from headrace.iceberg.manifest_scan import LiveFile

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


class BoundedFile(NamedTuple):
    """A data file with the bounds of its times, None where its writer kept none.

    `nulls` counts its rows without a time, None where its writer did not. `events` are the bounds of
    the columns that watermarks go by.
    """

    file: LiveFile
    span: Span | None
    nulls: int | None
    events: Spans

    @property
    def is_without_times(self) -> bool:
        """Whether no row has a time."""
        return self.nulls == self.file.rows

    @property
    def has_times(self) -> bool:
        """Whether all is known of the file's times that a plan needs."""
        return self.nulls is not None and (self.is_without_times or self.span is not None)


class FileEnumerator:
    """Lists the files of a source, and cuts them; with `scan` times are read that have no bounds."""

    def __init__(
        self, source: LakeSource, *, scan: bool = False, events: EventColumns | None = None
    ) -> None:
        self.source = source
        self._scans_times = scan
        self._events = events or EventColumns()
        self._event_ids = [source.schema.find_field(one).field_id for one in self._events.names]
        # The bounds that are listed of each file, in this order.
        of_conditions = field_ids(source.schema, source.conditions)
        self._field_ids = [source.time_field_id, *of_conditions, *self._event_ids]

    def files(self) -> FileList:
        """Return the data files that may hold rows of the period, by metadata alone."""
        scan = self.source.scan
        manifests = self._manifests()
        if has_deletes(manifests) or scan.regions:
            # What is deleted where, and which partition is which region, Iceberg itself knows.
            tasks = scan.tasks.values()
            deleted = {task.file.file_path for task in tasks if task.delete_files}
            return self._found((planned_file(task, self._field_ids) for task in tasks), deleted)
        return self.files_in(manifests)

    def files_in(self, manifests: Sequence[ManifestFile]) -> FileList:
        """Return the files of manifests that may hold rows of the period, where no row is deleted."""
        table, row_filter = self.source.table, self.source.scan.file_filter()
        return self._found(list_files(table, manifests, row_filter, self._field_ids), set())

    def whole_span_us(self) -> tuple[int, int] | None:
        """Return from when to when the files of the snapshot are, as far as manifests tell."""
        manifests = [one for one in self._manifests() if one.content == ManifestContent.DATA]
        files = list_files(self.source.table, manifests, AlwaysTrue(), self._field_ids[:1])
        return hull(time_span(file.bounds[0]) for file in files)

    def cut(self, file: Unit, threshold_us: int) -> tuple[list[Unit], int]:
        """Cut a file that spans more time than the threshold; returns its widest row group too."""
        time_column, events = self.source.time_column, self._events
        units: list[Unit] = []
        widest_us = 0
        for unit, batches in self._parts(file, (time_column, *events.names)):
            widest_us = max(widest_us, unit.width_us)
            if unit.width_us > threshold_us:
                grid = fine_grid(self.source.period.start_us, threshold_us, unit.width_us)
                units += slices(unit, batches(), grid, time_column, events)
            else:
                kept = events.kept(unit.events, (unit.min_ts_us, unit.max_ts_us))
                units.append(replace(unit, events=kept))
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
            for unit, batches in self._parts(file, (*columns, *self._events.names))
            for stretch in stretches(unit, batches(), grid, time_column, self._events)
        ]

    def _manifests(self) -> list[ManifestFile]:
        table, snapshot_id = self.source.table, self.source.snapshot_id
        snapshot = None if snapshot_id is None else table.snapshot_by_id(snapshot_id)
        return [] if snapshot is None else snapshot.manifests(table.io)

    def _found(self, files: Iterable[LiveFile], deleted: Collection[str]) -> FileList:
        source, scan = self.source, self.source.scan
        kept: list[Unit] = []
        skipped: list[Unit] = []
        without_time: list[FileWithoutTimes] = []
        for one in self._bounded(files):
            path, bounds = one.file.path, one.file.bounds[1:]
            may_match = file_may_match(source.schema, source.conditions, bounds)
            if not one.is_without_times:
                unit = source.period.clip(self._unit(one, has_deletes=path in deleted))
                if unit is None:
                    continue
                (kept if may_match else skipped).append(unit)
            if one.nulls and may_match:
                without_time.append(FileWithoutTimes(path, one.nulls))
        if deleted or scan.regions:
            # Only the rows tell which of them are deleted, and of which region they are.
            counted = ((one.path, scan.without_time(one.path)) for one in without_time)
            without_time = [FileWithoutTimes(path, rows) for path, rows in counted if rows]
        return FileList(kept, len(skipped), sum(unit.rows for unit in skipped), without_time)

    def _parts(
        self, file: Unit, columns: Sequence[str]
    ) -> Iterator[tuple[Unit, Callable[[], Iterator[pa.RecordBatch]]]]:
        """Yield each row group of the period, and a way to read those columns of it.

        A file that is not read as it stands comes as a whole: Iceberg's own way of reading knows no
        row groups. Whichever columns will be asked for, that is decided by all of them.
        """
        scan, reader, schema = self.source.scan, self.source.reader, self.source.schema
        columns = tuple(dict.fromkeys(columns))
        of_table = schema if record_type(schema) is None else without_record(schema)
        with scan.open(file.path) as opened:
            if reader.columns_as_stored(file, opened, of_table) is not None:
                for group in self._row_groups(opened, file.path):
                    unit = scan.period.clip(self._unit_of(file, group))
                    if unit is not None:
                        events = self._event_spans(opened, group.index)
                        reading = partial(reader.plain_rows, opened, [group.index], columns)
                        yield replace(unit, events=events), reading
                return
        yield file, lambda: scan.rows(file, schema.select(*columns))

    def _row_groups(self, opened: pq.ParquetFile, path: str) -> list[RowGroup]:
        source = self.source
        return row_groups(opened, source.time_field_id, path, source.name, scan=self._scans_times)

    def _unit_of(self, file: Unit, group: RowGroup) -> Unit:
        return replace(
            file,
            min_ts_us=group.span[0],
            max_ts_us=group.span[1],
            rows=group.rows,
            size_bytes=group.size_bytes,
            row_groups=(group.index, group.index + 1),
            partly=bool(self.source.scan.regions),
        )

    def _event_spans(self, opened: pq.ParquetFile, group: int) -> Spans:
        return tuple(
            event_span(opened, group, field_id, scan=self._scans_times)
            for field_id in self._event_ids
        )

    def _bounded(self, files: Iterable[LiveFile]) -> Iterator[BoundedFile]:
        """Yield files with bounds and nulls of their times, from footers where manifests have none.

        Beside the bounds of the times that the replay goes by come those of its watermarks.
        """
        first = 1 + len(self.source.conditions)
        may_lack_times = may_be_null(self.source.schema, self.source.time_column)
        missing: list[BoundedFile] = []
        for file in files:
            if file.rows:
                events = tuple(map(time_span, file.bounds[first:]))
                nulls = file.nulls if may_lack_times else 0
                known = BoundedFile(file, time_span(file.bounds[0]), nulls, events)
                if known.has_times and (known.is_without_times or None not in events):
                    yield known
                else:
                    missing.append(known)
        with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
            yield from pool.map(self._by_footer, missing)

    def _by_footer(self, known: BoundedFile) -> BoundedFile:
        # Written by a tool that keeps no bounds for fields inside a struct.
        file, *_, events = known
        with self.source.scan.open(file.path) as opened:
            if None in events:
                numbers = range(opened.metadata.num_row_groups)
                events = all_spans(
                    (self._event_spans(opened, number) for number in numbers), len(events)
                )
            if known.has_times:
                return known._replace(events=events)
            groups = self._row_groups(opened, file.path)
            # By the file's own count: rows that the manifest knows and the file has not are missing.
            rows = opened.metadata.num_rows
        span = hull(group.span for group in groups)
        return BoundedFile(file, span, rows - sum(group.rows for group in groups), events)

    def _unit(self, known: BoundedFile, *, has_deletes: bool) -> Unit:
        file, span, nulls, events = known
        if span is None:
            raise NoBounds(file.path, self.source.name)
        return Unit(
            self.source.name,
            file.path,
            *span,
            file.rows - (nulls or 0),
            file.size_bytes,
            has_deletes,
            partly=has_deletes or bool(self.source.scan.regions),
            events=self._events.kept(events, span),
        )
