"""A real table in a SQLite catalog, files for it, and catalogs that misbehave on command."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.typedef import Record as Unpartitioned

from headrace import contract
from headrace.contract import with_metadata
from headrace.iceberg.table_files import parquet_data_file
from headrace.landing.commit_state import Identity
from headrace.landing.commits import TableBatch, TableCommits
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import CommitTableResponse, Table
    from pyiceberg.table.update import TableRequirement, TableUpdate

NAME = ("tv", "events")
TOPIC = "events"
RECORD = with_metadata(Record("tv.Event", (Field("id", Primitive.LONG, nullable=False),)))
BOUNDED = (contract.INGESTION_TS, contract.PARTITION, contract.OFFSET)
AT = datetime(2026, 3, 1, tzinfo=UTC)


class InterruptedCatalog(SqlCatalog):
    """The real catalog, with something happening just before or just after a commit."""

    before: Callable[[], None] | None = None
    after: Callable[[], None] | None = None

    def commit_table(
        self,
        table: Table,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> CommitTableResponse:
        before, self.before = self.before, None
        if before is not None:
            before()
        response = super().commit_table(table, requirements, updates)
        after, self.after = self.after, None
        if after is not None:
            after()
        return response


@dataclass(frozen=True)
class LandingTable:
    """One table, and what writers do to it."""

    root: Path

    def make(self, **properties: str) -> None:
        catalog = self.catalog()
        catalog.create_namespace("tv")
        schema, _ = to_iceberg(RECORD)
        wanted = {"format-version": "2", "write.metadata.delete-after-commit.enabled": "true"}
        catalog.create_table(NAME, schema, properties={**wanted, **properties})

    def catalog(self) -> InterruptedCatalog:
        """Open the catalog, as one process of its own does."""
        place = {"uri": f"sqlite:///{self.root}/catalog.db", "warehouse": f"file://{self.root}"}
        return InterruptedCatalog("lake", **place)

    def load(self) -> Table:
        return self.catalog().load_table(NAME)

    def commits(self, catalog: Catalog | None = None, host: str = "here") -> TableCommits:
        """Return the commits of a process that begins now."""
        opened = catalog or self.catalog()
        identity = Identity("w", TOPIC, host, 1, "2026-03-01T00:00:00.000Z")
        commits = TableCommits(lambda: opened.load_table(NAME), "lake.tv.events", identity)
        commits.resume()
        return commits

    def batch(self, ranges: Mapping[int, range]) -> TableBatch:
        """Write files with a row for every offset."""
        starts = {number: span.start for number, span in ranges.items()}
        ends = {number: span.stop for number, span in ranges.items()}
        return TableBatch(
            [self.file(number, span) for number, span in ranges.items()], starts, ends
        )

    def file(self, partition: int, offsets: range) -> DataFile:
        return data_file(self.load(), TOPIC, partition, offsets)

    def places(self) -> list[tuple[int, int]]:
        """Return partition and offset of every row, a doubled one twice."""
        return places(self.load())

    def files(self) -> set[str]:
        """Return the files that lie below the table's folder."""
        folder = self.root / "tv" / "events"
        return {str(path) for path in folder.rglob("*") if path.is_file()}

    def referenced(self) -> set[str]:
        return referenced(self.load())


def referenced(table: Table) -> set[str]:
    """Return all files that a table's metadata refers to, itself included."""
    found = [table.metadata_location]
    found += [entry.metadata_file for entry in table.metadata.metadata_log]
    for snapshot in table.metadata.snapshots:
        found.append(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            found.append(manifest.manifest_path)
            entries = manifest.fetch_manifest_entry(table.io)
            found += [entry.data_file.file_path for entry in entries]
    return {urlparse(place).path for place in found}


def bounds(table: Table) -> list[dict[str, tuple[int, int]]]:
    """Return what the manifests say of each file's metadata columns, not its footer."""
    result = []
    for task in table.scan().plan_files():
        lower, upper = task.file.lower_bounds or {}, task.file.upper_bounds or {}
        said = {}
        for column in BOUNDED:
            field = table.schema().find_field(column)
            kind, number = field.field_type, field.field_id
            assert kind.is_primitive
            said[column] = tuple(
                int(from_bytes(kind, values[number]))  # type: ignore[arg-type]  # a primitive
                for values in (lower, upper)
            )
        result.append(said)
    return result  # type: ignore[return-value]  # each tuple holds two


def data_file(table: Table, topic: str, partition: int, offsets: Iterable[int]) -> DataFile:
    """Write a file of the table with a row for every offset; it is in no table yet."""
    place = Path(urlparse(table.location()).path) / "data" / f"{uuid4()}.parquet"
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows(table, topic, partition, offsets), place)
    footer = pq.read_metadata(place)
    return parquet_data_file(
        table.metadata, place.as_uri(), place.stat().st_size, footer, Unpartitioned()
    )


def rows(table: Table, topic: str, partition: int, offsets: Iterable[int]) -> pa.Table:
    found = [{"id": one, contract.METADATA: at(partition, one, topic)} for one in offsets]
    return pa.Table.from_pylist(found, schema_to_pyarrow(table.schema()))


def at(partition: int, offset: int, topic: str = TOPIC) -> dict[str, object]:
    return {
        "kafka_ingestion_ts": AT,
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "region": None,
    }


def places(table: Table) -> list[tuple[int, int]]:
    found = table.scan(selected_fields=(contract.PARTITION, contract.OFFSET)).to_arrow()
    column = found[contract.METADATA].to_pylist()
    return sorted((one["partition"], one["offset"]) for one in column)
