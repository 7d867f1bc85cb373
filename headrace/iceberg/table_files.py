"""Parquet files of a table, written by Python; a commit of theirs is somebody else's business."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as is_
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table.locations import load_location_provider

from headrace.contract import INGESTION_TS, OFFSET, TABLE_PROPERTIES
from headrace.iceberg.append import remove_quietly
from headrace.iceberg.partitions import Partitioner
from headrace.records.arrow import column_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from pyiceberg.io import FileIO, OutputFile
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.typedef import Record

# Each follows from the one before, and is kept as the difference: a byte less a row, for no CPU.
# Only these: Iceberg's reader of single columns in Spark knows that encoding since 1.10, and what
# lies in a struct its older versions read as every other reader does.
COUNTED_UP: Final = (INGESTION_TS, OFFSET)
# Each open file holds a descriptor, and on an object store the buffers of an upload.
MOST_OPEN: Final = 32
# Arrow writes a dictionary whatever it is good for. One of values that are all different makes a
# column larger and its writing slower: on events of nine fields, to leave five of them without one
# saved a fifth of the bytes and a third of the time.
SAMPLE_ROWS: Final = 16 * 1024
MOST_DISTINCT: Final = 0.25
MOST_ROWS: Final = 128 * 1024
MOST_SPAN_US: Final = 10 * 60 * 1_000_000
# Fewer are read in no time, whatever they span; a footer with thousands of row groups is not.
FEWEST_ROWS: Final = 1024


@dataclass(frozen=True, slots=True)
class TableLocation:
    """What a task has to know of a table to write files of it: no snapshot, and no catalog."""

    metadata: TableMetadata
    io: FileIO
    target_bytes: int

    @property
    def columns(self) -> pa.Schema:
        """The columns of its files, with the table's ids in them."""
        return schema_to_pyarrow(self.metadata.schema(), include_field_ids=True)


def location_of(table: Table, target_bytes: int) -> TableLocation:
    """Return where files of a table go as it is now."""
    history: dict[str, Any] = {"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}}
    without = table.metadata.model_copy(update={**history, "current_snapshot_id": None})
    return TableLocation(without, table.io, target_bytes)


class TableFiles:
    """Files in the making. Each is in the order of time, as long as the rows given are.

    However many partitions the rows are of, few files are open at once: rows in the order of
    time come back to the same few, where partitions are by time.
    """

    def __init__(self, location: TableLocation) -> None:
        self._location = location
        metadata = location.metadata
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
        remove_quietly(self._location.io, [file.location for file in self._open.values()])
        remove_quietly(self._location.io, [file.file_path for file in self._done])

    def _write(self, partition: Record, rows: pa.Table, first_us: int) -> None:
        file = self._open.get(partition)
        if file is not None and (
            first_us < file.last_us or file.size() >= self._location.target_bytes
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
        metadata = self._location.metadata
        name = f"{uuid.uuid4()}.parquet"
        if len(partition):
            name = f"{metadata.spec().partition_to_path(partition, metadata.schema())}/{name}"
        output = self._location.io.new_output(self._locations.new_data_location(name))
        return _File(output, first, metadata.properties)

    def _finish(self, partition: Record) -> None:
        file = self._open[partition]
        footer, size = file.close()
        self._done.append(
            parquet_data_file(self._location.metadata, file.location, size, footer, partition)
        )
        del self._open[partition]


class _File:
    """One file in the making."""

    def __init__(self, output: OutputFile, first: pa.Table, properties: Mapping[str, str]) -> None:
        self.location = output.location
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


def parquet_data_file(
    metadata: TableMetadata,
    location: str,
    size_bytes: int,
    footer: pq.FileMetaData,
    partition: Record,
) -> DataFile:
    """Describe a file of the table's current schema and partition spec; one partition a file.

    pyiceberg leaves out the bounds of fields inside a struct, whatever the table's properties ask
    for. A replay finds its period by the bounds of `__metadata__`, so they are computed here.
    """
    schema = metadata.schema()
    plan = compute_statistics_plan(schema, metadata.properties)
    for name in TABLE_PROPERTIES:
        number = schema.find_field(name.removeprefix("write.metadata.metrics.column.")).field_id
        plan[number] = replace(plan[number], mode=MetricsMode(MetricModeTypes.FULL))
    found = data_file_statistics_from_parquet_metadata(
        footer, plan, parquet_path_to_id_mapping(schema)
    )
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=partition,
        file_size_in_bytes=size_bytes,
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **found.to_serialized_dict(),
    )
    file.spec_id = metadata.default_spec_id
    return file


def times_of(rows: pa.Table) -> NDArray[np.int64]:
    """Return the ingestion times of rows, in microseconds."""
    times: NDArray[np.int64] = column_at(rows, INGESTION_TS).cast(pa.int64()).to_numpy()
    return times


def worth_a_dictionary(rows: pa.Table) -> list[str]:
    """Return the columns, by Parquet's paths, whose values repeat, as the first rows tell."""
    sample = rows.slice(0, SAMPLE_ROWS).combine_chunks()
    return [
        path
        for name, column in zip(sample.column_names, sample.columns, strict=True)
        for path, values in _leaves(name, column.combine_chunks())
        if pc.count_distinct(values).as_py() <= MOST_DISTINCT * max(len(values), 1)
    ]


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    type_ = values.type
    if is_.is_struct(type_):
        for number, inside in enumerate(values.flatten()):
            yield from _leaves(f"{path}.{type_.field(number).name}", inside)
    elif is_.is_map(type_):
        yield from _leaves(f"{path}.key_value.key", values.keys)
        yield from _leaves(f"{path}.key_value.value", values.items)
    elif is_.is_list(type_) or is_.is_large_list(type_):
        yield from _leaves(f"{path}.list.element", values.flatten())
    else:
        yield path, values


def row_groups(times_us: NDArray[np.int64]) -> list[range]:
    """Cut rows in the order of their times into row groups: a replay of a minute reads no hour.

    None has more than MOST_ROWS, and one of more than FEWEST_ROWS spans at most MOST_SPAN_US.
    """
    found: list[range] = []
    start, rows = 0, len(times_us)
    while start < rows:
        in_time = int(np.searchsorted(times_us, times_us[start] + MOST_SPAN_US, side="right"))
        end = min(max(in_time, start + FEWEST_ROWS), start + MOST_ROWS, rows)
        found.append(range(start, end))
        start = end
    return found
