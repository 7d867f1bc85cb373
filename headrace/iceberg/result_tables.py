"""The table of an application's result, made by the columns that the application gives."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError

from headrace.iceberg.catalog import open_catalog, split_name
from headrace.iceberg.specs import first_spec
from headrace.schema.iceberg import to_iceberg

if TYPE_CHECKING:
    from headrace.config.app_sinks import IcebergSink
    from headrace.config.workspace import Workspace
    from headrace.schema.model import Record


def ensure_result_table(workspace: Workspace, sink: IcebergSink, record: Record) -> None:
    """Make the table of an application's result where it is missing."""
    catalog = open_catalog(workspace.catalog(sink.catalog))
    name = (*sink.database.split("."), sink.table)
    if catalog.table_exists(name):
        return
    catalog.create_namespace_if_not_exists(name[:-1])
    schema, own_properties = to_iceberg(record)
    created = {
        "format-version": "2",
        "write.parquet.compression-codec": "zstd",
        # A merge or a published backfill must not fail on rows that it does not touch.
        "write.merge.isolation-level": "snapshot",
        **own_properties,
    }
    catalog.create_table_if_not_exists(
        name, schema, partition_spec=first_spec(sink.partition_by, schema), properties=created
    )


def drop_table(workspace: Workspace, name: str) -> None:
    """Remove a table, its files included; one that is gone already is no mistake."""
    catalog_name, database, table = split_name(name)
    with contextlib.suppress(NoSuchTableError):
        open_catalog(workspace.catalog(catalog_name)).purge_table((*database, table))
