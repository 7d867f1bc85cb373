"""The table that a lake writer fills, for those who do not make it themselves."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import (
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from benchmarks.checks import METADATA

# Under this name Iceberg's sink looks its tables up.
CATALOG = "iceberg"
NAMESPACE = "playback"
TABLE = "events"
# As the lake writer makes its tables: a peer differs by its job, not by its files.
PROPERTIES = {
    "format-version": "2",
    "write.parquet.compression-codec": "zstd",
    "write.distribution-mode": "none",
    "write.target-file-size-bytes": str(128 * 2**20),
}
# What KafkaMetadataTransform has to tell of a record, by its names.
PLACE = StructType(
    NestedField(11, "timestamp", TimestamptzType()),
    NestedField(12, "topic", StringType()),
    NestedField(13, "partition", IntegerType()),
    NestedField(14, "offset", LongType()),
)
SCHEMA = Schema(
    NestedField(1, "event_id", StringType()),
    NestedField(2, "event_ts", TimestamptzType()),
    NestedField(3, "event_type", StringType()),
    NestedField(4, "user_id", StringType()),
    NestedField(5, "title_id", LongType()),
    NestedField(6, "session_id", StringType()),
    NestedField(7, "device", StringType()),
    NestedField(8, "country", StringType()),
    NestedField(9, "position_ms", LongType()),
    NestedField(10, METADATA, PLACE),
)


class Lake:
    """A catalog in a SQLite file of a folder, its tables beside it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "catalog.db"
        self.warehouse = folder / "warehouse"

    def create_table(self) -> None:
        """Make the table, empty."""
        catalog = self._open()
        try:
            catalog.create_namespace(NAMESPACE)
            catalog.create_table((NAMESPACE, TABLE), SCHEMA, properties=PROPERTIES)
        finally:
            catalog.close()

    def data_files(self) -> list[Path]:
        """Return the files of the table as it is now: what was written in vain is none."""
        catalog = self._open()
        try:
            table = catalog.load_table((NAMESPACE, TABLE))
            return [Path(urlsplit(task.file.file_path).path) for task in table.scan().plan_files()]
        finally:
            catalog.close()

    def _open(self) -> SqlCatalog:
        properties = {"uri": f"sqlite:///{self.file}", "warehouse": f"file://{self.warehouse}"}
        return SqlCatalog(CATALOG, **properties)
