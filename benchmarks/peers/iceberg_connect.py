"""Iceberg's sink connector, until all rows are committed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks.peers.connect_worker import run

if TYPE_CHECKING:
    from collections.abc import Callable

CURRENT = (
    "SELECT metadata_location FROM iceberg_tables"
    " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
)


def committed(settings: dict[str, Any]) -> Callable[[], int]:
    """Return what counts the rows of the table, read without a library: it runs all the time."""

    def count() -> int:
        with closing(sqlite3.connect(settings["catalog"])) as catalog:
            (location,) = catalog.execute(CURRENT, settings["name"]).fetchone()
        return rows_of(Path(urlsplit(location).path))

    return count


def rows_of(metadata: Path) -> int:
    """Return how many rows a table has by its metadata file."""
    table = json.loads(metadata.read_text(encoding="utf-8"))
    current = table.get("current-snapshot-id")
    return sum(
        int(snapshot["summary"]["total-records"])
        for snapshot in table.get("snapshots", ())
        if snapshot["snapshot-id"] == current
    )


if __name__ == "__main__":
    run(committed)
