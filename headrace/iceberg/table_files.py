"""Parquet files of a table, written by Python; a commit of theirs is somebody else's business."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table.locations import load_location_provider

from headrace.contract import INGESTION_TS, OFFSET
from headrace.iceberg.data_files import parquet_data_file
from headrace.iceberg.dictionaries import worth_a_dictionary
from headrace.iceberg.partitions import Partitioner
from headrace.landing.row_groups import row_groups
from headrace.records.arrow import column_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from pyiceberg.io import FileIO, OutputFile
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.typedef import Record

# Each follows from the one before, and is kept as the difference: a byte less a row, for no CPU.
# Only these: Iceberg's reader of single columns in Spark knows that encoding since 1.10, and what
# lies in a struct its older versions read as every other reader does.
COUNTED_UP: Final = (INGESTION_TS, OFFSET)
# Each open file holds a descriptor, and on an object store the buffers of an upload.
MOST_OPEN: Final = 32


@dataclass(frozen=True, slots=True)
class TablePlace:
    """What a task has to know of a table to write files of it: no snapshot, and no catalog."""

    metadata: TableMetadata
    io: FileIO
    target_bytes: int

    @property
    def columns(self) -> pa.Schema:
        """The columns of its files, with the table's ids in them."""
        return schema_to_pyarrow(self.metadata.schema(), include_field_ids=True)


def place_of(table: Table, target_bytes: int) -> TablePlace:
    """Return where files of a table go as it is now."""
    history: dict[str, Any] = {"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}}
    without = table.metadata.model_copy(update={**history, "current_snapshot_id": None})
    return TablePlace(without, table.io, target_bytes)


class TableFiles:
    """Files in the making. Each is in the order of time, as long as the rows given are.

    However many partitions the rows are of, few files are open at once: rows in the order of
    time come back to the same few, where partitions are by time.
    """

    def __init__(self, place: TablePlace) -> None:
        self._place = place
        metadata = place.metadata
        self._partitioner = Partitioner(metadata.schema(), metadata.spec())
        self._locations = load_location_provider(metadata.location, metadata.properties)
        self._open: dict[Record, _File] = {}
        self._done: list[DataFile] = []

    def write(self, rows: pa.Table) -> None:
        """Write rows that are in the order of their time."""
        for partition, own in self._partitioner.split(rows):
            times_us = times_of(own)
            for group in row_groups(times_us):
                self._write(partition, own.slice(group.start, len(group)), times_us[group.start])

    def close(self) -> list[DataFile]:
        """Finish the files; return what there is to commit."""
        while self._open:
            self._finish(next(iter(self._open)))
        return self._done

    def discard(self) -> None:
        """Remove the files: nothing refers to them. One that stays is an orphan, found as one."""
        for file in self._open.values():
            with contextlib.suppress(Exception):
                file.close()
        for place in (*(f.place for f in self._open.values()), *(f.file_path for f in self._done)):
            with contextlib.suppress(Exception):
                self._place.io.delete(place)

    def _write(self, partition: Record, rows: pa.Table, first_us: int) -> None:
        file = self._open.get(partition)
        if file is not None and (
            first_us < file.last_us or file.size() >= self._place.target_bytes
        ):
            self._finish(partition)
            file = None
        if file is None:
            if len(self._open) >= MOST_OPEN:
                # The one whose last rows are the longest ago.
                self._finish(next(iter(self._open)))
            file = self._open[partition] = self._new(partition, rows)
        else:
            self._open[partition] = self._open.pop(partition)
        file.write(rows)

    def _new(self, partition: Record, first: pa.Table) -> _File:
        metadata = self._place.metadata
        name = f"{uuid.uuid4()}.parquet"
        if len(partition):
            name = f"{metadata.spec().partition_to_path(partition, metadata.schema())}/{name}"
        output = self._place.io.new_output(self._locations.new_data_location(name))
        return _File(output, first, metadata.properties)

    def _finish(self, partition: Record) -> None:
        file = self._open[partition]
        footer, size = file.close()
        self._done.append(
            parquet_data_file(self._place.metadata, file.place, size, footer, partition)
        )
        del self._open[partition]


class _File:
    """One file in the making."""

    def __init__(self, output: OutputFile, first: pa.Table, properties: Mapping[str, str]) -> None:
        self.place = output.location
        self.last_us = -(2**63)
        self._stream: Any = output.create(overwrite=True)
        self._footers: list[pq.FileMetaData] = []
        codec = properties.get("write.parquet.compression-codec", "zstd")
        level = properties.get("write.parquet.compression-level")
        repeated = worth_a_dictionary(first)
        self._writer = pq.ParquetWriter(
            self._stream,
            first.schema,
            compression="none" if codec == "uncompressed" else codec,
            compression_level=None if level is None else int(level),
            use_dictionary=repeated,
            column_encoding={
                path: "DELTA_BINARY_PACKED" for path in COUNTED_UP if path not in repeated
            },
            store_schema=False,
            store_decimal_as_integer=True,
            write_page_index=True,
            metadata_collector=self._footers,
        )

    def size(self) -> int:
        """Return how many bytes have been written."""
        return int(self._stream.tell())

    def write(self, rows: pa.Table) -> None:
        """Add a row group."""
        self._writer.write_table(rows, row_group_size=rows.num_rows)
        self.last_us = int(times_of(rows.slice(rows.num_rows - 1))[0])

    def close(self) -> tuple[pq.FileMetaData, int]:
        """Write the footer; return it, and the size of the whole file."""
        self._writer.close()
        size = self.size()
        self._stream.close()
        return self._footers[0], size


def times_of(rows: pa.Table) -> NDArray[np.int64]:
    """Return the ingestion times of rows, in microseconds."""
    times: NDArray[np.int64] = column_at(rows, INGESTION_TS).cast(pa.int64()).to_numpy()
    return times
