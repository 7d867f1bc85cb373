"""Tables with as many data files as wanted, by their manifests alone: none of the files is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import fastavro
import pyarrow as pa
from pyiceberg.manifest import ManifestFile, write_manifest_list
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate

from headrace.contract import INGESTION_TS, with_metadata
from headrace.schema.arrow import to_arrow
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

FILES_PER_MANIFEST = 10_000
ROWS_PER_FILE = 100_000
BYTES_PER_FILE = 8 * 2**20
STRING_BOUND = b"a string of 16 b"
# Nine columns beside the metadata, as the other benchmarks have them.
EVENT = Record(
    "Event",
    tuple(
        Field(name, kind, nullable=True)
        for name, kind in {
            "event_id": Primitive.STRING,
            "event_ts": Primitive.TIMESTAMP_MICROS,
            "event_type": Primitive.STRING,
            "user_id": Primitive.STRING,
            "title_id": Primitive.LONG,
            "session_id": Primitive.STRING,
            "device": Primitive.STRING,
            "country": Primitive.STRING,
            "position_ms": Primitive.LONG,
        }.items()
    ),
)


def make_wide_table(
    catalog: Catalog, name: tuple[str, str], files: int, start_us: int, every_us: int
) -> None:
    """Make a table of which a file begins at every so many microseconds, and is twice as wide."""
    columns = with_metadata(EVENT)
    schema, properties = to_iceberg(columns)
    catalog.create_namespace_if_not_exists(name[0])
    table = catalog.create_table(name, schema, properties=properties)
    # One real append, for a manifest as this library writes it.
    table.append(pa.Table.from_pylist([{}], schema=to_arrow(columns)))
    table.refresh()
    _Forge(table, start_us, every_us).commit(files)


class _Forge:
    """Writes manifests after the model of the one that the table has."""

    def __init__(self, table: Table, start_us: int, every_us: int) -> None:
        self._table = table
        self._start_us = start_us
        self._every_us = every_us
        self._snapshot_id = uuid4().int >> 65
        self._time_id = table.schema().find_field(INGESTION_TS).field_id
        self._event_id = table.schema().find_field("event_ts").field_id
        snapshot = table.current_snapshot()
        if snapshot is None:
            raise ValueError(table.name())
        self._parent = snapshot
        (self._model,) = snapshot.manifests(table.io)
        with table.io.new_input(self._model.manifest_path).open() as stream:
            reader = fastavro.reader(cast("IO[bytes]", stream))
            self._schema, self._metadata = reader.writer_schema, reader.metadata
            self._entry = cast("dict[str, Any]", next(reader))

    def commit(self, files: int) -> None:
        """Add a snapshot of so many files."""
        starts = range(0, files, FILES_PER_MANIFEST)
        manifests = [
            self._manifest(first, min(first + FILES_PER_MANIFEST, files)) for first in starts
        ]
        table, place = self._table, self._place(f"snap-{self._snapshot_id}.avro")
        sequence_number = self._parent.sequence_number + 1 if self._parent.sequence_number else 1
        with write_manifest_list(
            format_version=table.metadata.format_version,
            output_file=table.io.new_output(place),
            snapshot_id=self._snapshot_id,
            parent_snapshot_id=self._parent.snapshot_id,
            sequence_number=sequence_number,
            avro_compression="deflate",
        ) as writer:
            writer.add_manifests(manifests)
        snapshot = Snapshot(
            snapshot_id=self._snapshot_id,
            parent_snapshot_id=self._parent.snapshot_id,
            sequence_number=sequence_number,
            timestamp_ms=self._parent.timestamp_ms + 1,
            manifest_list=place,
            summary=Summary(Operation.APPEND),
            schema_id=table.metadata.current_schema_id,
        )
        main = SetSnapshotRefUpdate(
            ref_name="main",
            type="branch",
            snapshot_id=self._snapshot_id,
            max_ref_age_ms=None,
            max_snapshot_age_ms=None,
            min_snapshots_to_keep=None,
        )
        table.catalog.commit_table(table, (), (AddSnapshotUpdate(snapshot=snapshot), main))

    def _manifest(self, first: int, end: int) -> ManifestFile:
        place = self._place(f"{self._snapshot_id}-{first:08}.avro")
        kept = {
            name: value for name, value in self._metadata.items() if not name.startswith("avro.")
        }
        with self._table.io.new_output(place).create(overwrite=True) as stream:
            entries = self._entries(first, end)
            fastavro.writer(
                cast("IO[bytes]", stream), self._schema, entries, "deflate", metadata=kept
            )
        length = len(self._table.io.new_input(place))
        return ManifestFile.from_args(
            manifest_path=place,
            manifest_length=length,
            partition_spec_id=0,
            content=self._model.content,
            sequence_number=-1,
            min_sequence_number=-1,
            added_snapshot_id=self._snapshot_id,
            added_files_count=end - first,
            existing_files_count=0,
            deleted_files_count=0,
            added_rows_count=(end - first) * ROWS_PER_FILE,
            existing_rows_count=0,
            deleted_rows_count=0,
            partitions=[],
        )

    def _entries(self, first: int, end: int) -> Iterator[dict[str, Any]]:
        file, folder = dict(self._entry["data_file"]), f"{self._table.location()}/data"
        file |= {"record_count": ROWS_PER_FILE, "file_size_in_bytes": BYTES_PER_FILE}
        (metadata,) = self._table.schema().fields[-1:]
        leaves = set(range(1, self._time_id + 5)) - {metadata.field_id}
        for column in ("column_sizes", "value_counts", "null_value_counts"):
            file[column] = [{"key": number, "value": ROWS_PER_FILE} for number in leaves]
        strings = [
            {"key": number, "value": STRING_BOUND}
            for number in leaves - {self._time_id, self._event_id}
        ]
        # The events happened as they arrived.
        lower: list[dict[str, Any]] = [{"key": self._time_id}, {"key": self._event_id}]
        upper: list[dict[str, Any]] = [{"key": self._time_id}, {"key": self._event_id}]
        file |= {"lower_bounds": [*strings, *lower], "upper_bounds": [*strings, *upper]}
        entry = {**self._entry, "snapshot_id": self._snapshot_id, "data_file": file}
        for number in range(first, end):
            begin_us = self._start_us + number * self._every_us
            # It is encoded before the next is asked for: one dict serves for all.
            file["file_path"] = f"{folder}/{number:08}-0123456789abcdef0123456789abcdef.parquet"
            for low, high in zip(lower, upper, strict=True):
                low["value"] = _bound(begin_us)
                high["value"] = _bound(begin_us + 2 * self._every_us - 1)
            yield entry

    def _place(self, name: str) -> str:
        return self._table.location_provider().new_metadata_location(name)


def _bound(time_us: int) -> bytes:
    return time_us.to_bytes(8, "little", signed=True)
