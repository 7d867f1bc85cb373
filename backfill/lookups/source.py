"""A lookup as a batch source of Spark's, whose rows are those of the micro-batch's own time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.schema import Schema
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from backfill.lookups.batches import current_batch, replayed_snapshot, taken_snapshot
from backfill.plan.plan import read_head
from backfill.read.file_columns import with_structs_in_lists, without_record
from backfill.read.iceberg_scan import equality_deletes_refused
from headrace.config.load import load_workspace
from headrace.errors import Terminal
from headrace.iceberg.catalog import load_table
from headrace.jvm.python_workers import settle
from headrace.schema.arrow import for_spark
from headrace.schema.iceberg import from_iceberg
from headrace.schema.spark import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyiceberg.table import FileScanTask, Table

    from backfill.plan.lookups import PlannedLookup


NAME: Final = "headrace_lookup"
# Opened tables are kept by a worker for so long: the keys that a catalog hands out expire.
KEPT_S: Final = 600
# A small lookup that has not changed is not fetched again for each batch.
KEPT_BYTES: Final = 16 * 2**20


class LookupSource(DataSource):
    """`spark.read.format("headrace_lookup")`, as `backfill.lookups.frames` opens it.

    The options are `workspace`, `table`, `name`, `all_columns` (Iceberg's JSON), `columns` (with
    commas), `tasks`, and where the state follows from: `snapshot` (empty: none), or `checkpoint`
    with `plan` (a replay's), `taken` (a folder for what live batches took), or both.
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> StructType:
        """Return the lookup's columns."""
        options = dict(self.options)
        properties = open_lookup_table(options["workspace"], options["table"]).properties
        return StructType.fromJson(to_spark(from_iceberg(_columns(options), properties)))

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark's signature
        """Return the reader of the state that each batch is of."""
        return LookupReader(dict(self.options))


@dataclass
class LookupPartition(InputPartition):
    """What one task reads: every so many-th file."""

    number: int
    count: int


class LookupReader(DataSourceReader):
    """One lookup. Its parts know no state: Spark asks for them once, for all batches."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Share out the files, whichever they will be."""
        count = int(self._options["tasks"])
        return [LookupPartition(number, count) for number in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a task's share of the state that its batch joins with."""
        if not isinstance(partition, LookupPartition):
            return
        snapshot_id = self._snapshot()
        settle()
        if snapshot_id is not None:
            yield from self._rows(snapshot_id, (partition.number, partition.count))

    def _rows(self, snapshot_id: int, share: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        place = self._options["table"], repr(_columns(self._options)), share
        if place in _SMALL and _SMALL[place][0] == snapshot_id:
            yield from _SMALL[place][1]
            return
        table = self._holding(snapshot_id)
        kept: list[pa.RecordBatch] | None = []
        for read in snapshot_rows(table, snapshot_id, _columns(self._options), share):
            batch = read.cast(for_spark(read.schema))
            if kept is not None:
                kept.append(batch)
                if sum(one.nbytes for one in kept) > KEPT_BYTES:
                    kept = None
            yield batch
        if kept is not None:
            _SMALL[place] = snapshot_id, kept

    def _snapshot(self) -> int | None:
        options = self._options
        fixed = options.get("snapshot")
        if fixed is not None:
            return int(fixed) if fixed else None
        name, checkpoint = options["name"], Path(options["checkpoint"])
        batch = current_batch(name)
        if "plan" in options:
            return replayed_snapshot(_planned(options["plan"], name), checkpoint, batch)
        return taken_snapshot(
            Path(options["taken"]), checkpoint, batch, self._head, is_there=self._is_there
        )

    def _head(self) -> int | None:
        head = load_table(load_workspace(Path(self._options["workspace"])), self._options["table"])
        current = head.current_snapshot()
        return None if current is None else current.snapshot_id

    def _is_there(self, snapshot_id: int) -> bool:
        return self._holding(snapshot_id).snapshot_by_id(snapshot_id) is not None

    def _holding(self, snapshot_id: int) -> Table:
        """Return the table as of a time when it had that snapshot, if there was one."""
        table = open_lookup_table(self._options["workspace"], self._options["table"])
        return table if table.snapshot_by_id(snapshot_id) is not None else table.refresh()


# What a worker has read last of each lookup: the snapshot, and its rows.
_SMALL: Final[dict[tuple[str, str, tuple[int, int]], tuple[int, list[pa.RecordBatch]]]] = {}


def open_lookup_table(workspace: str, table: str) -> Table:
    """Return the table, which a worker keeps open for a while."""
    return _kept(workspace, table, int(time.monotonic() // KEPT_S))


@lru_cache(maxsize=16)
def _kept(workspace: str, table: str, _while: int) -> Table:
    return load_table(load_workspace(Path(workspace)), table)


@lru_cache(maxsize=16)
def _planned(plan: str, name: str) -> PlannedLookup:
    found: PlannedLookup = next(one for one in read_head(Path(plan)).lookups if one.name == name)
    return found


def _columns(options: Mapping[str, str]) -> Schema:
    names = [name for name in options["columns"].split(",") if name]
    return lookup_columns(options["all_columns"], options["table"], names)


def lookup_columns(text: str, table: str, columns: Sequence[str]) -> Schema:
    """Return those columns of a lookup's table, all of them where none is named."""
    schema = Schema.model_validate_json(text)
    known = [field.name for field in schema.fields]
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise Terminal(
            f"table {table} has no column {', '.join(unknown)}", f"it has {', '.join(known)}"
        )
    chosen = schema.select(*columns) if columns else without_record(schema)
    if held := with_structs_in_lists(chosen):
        # pyiceberg reads a missing list of structs as an empty one.
        raise Terminal(
            f"lookup table {table} has lists or maps of records ({', '.join(held)}), which cannot"
            " be read exactly",
            "name the columns that you need: columns: […]",
        )
    return chosen


def snapshot_rows(
    table: Table, snapshot_id: int, columns: Schema, share: tuple[int, int]
) -> Iterator[pa.RecordBatch]:
    """Read one of so many shares of a snapshot's files, deletes and renames applied.

    A column that came later than the snapshot is null.
    """
    number, count = share
    scan = ArrowScan(table.metadata, table.io, columns, AlwaysTrue())
    try:
        for task in _files(table, snapshot_id)[number::count]:
            # One by one: given several, it holds them all in memory.
            yield from (batch for batch in scan.to_record_batches([task]) if batch.num_rows)
    except FileNotFoundError as problem:
        raise Terminal(
            f"a data file of snapshot {snapshot_id} of {table.name()} is gone: {problem}",
            "the file was removed although the snapshot needs it: restore it",
        ) from None


def _files(table: Table, snapshot_id: int) -> list[FileScanTask]:
    if table.snapshot_by_id(snapshot_id) is None:
        raise Terminal(
            f"snapshot {snapshot_id} of {table.name()} is gone",
            "it has expired: plan the replay again, with another --run-id",
        )
    with equality_deletes_refused(".".join(table.name()), snapshot_id):
        tasks = list(table.scan(snapshot_id=snapshot_id).plan_files())
    # Every task of a batch has to see the same order.
    return sorted(tasks, key=lambda task: task.file.file_path)
