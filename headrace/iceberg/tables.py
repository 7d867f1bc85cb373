"""Iceberg tables by name: of a lake table's file and of an application's result, made where missing."""

from __future__ import annotations

import contextlib
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pyiceberg.exceptions import NoSuchTableError

from headrace.contract import TABLE_PROPERTIES, with_metadata
from headrace.iceberg.catalog import open_catalog, split_name
from headrace.iceberg.evolve_table import follow, follow_partitions
from headrace.iceberg.specs import first_spec
from headrace.jvm.cluster import is_on_this_machine
from headrace.schema.iceberg import to_iceberg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyiceberg.table import Table

    from headrace.config.app.sinks import IcebergSink
    from headrace.config.lake_table.file import Target
    from headrace.config.workspace.workspace import Workspace
    from headrace.iceberg.evolution import Follows
    from headrace.schema.model import Record

_ALWAYS: Final = {"format-version": "2", "write.parquet.compression-codec": "zstd"}
WAREHOUSE: Final = "warehouse"
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def ensure_table(
    workspace: Workspace,
    target: Target,
    record: Record,
    follows: Follows = "none",
    said: Mapping[str, str] = NOTHING,
) -> Table:
    """Return the table, made by the schema where it is missing.

    One that is there gets the columns that it lacks, as far as it is to follow, and then the
    partitions that its file names; one that does not fit is refused. `said` are properties by which
    the table is to tell something of itself.
    """
    load = _made(workspace, target, with_metadata(record), {**properties(target), **said})
    table = follow(load, target.identifier, record, follows)
    if target.partition_by is not None:
        table = follow_partitions(load, target.identifier, target.partition_by)
    wanted = {**TABLE_PROPERTIES, **said}
    missing = {key: value for key, value in wanted.items() if table.properties.get(key) != value}
    if missing:
        with table.transaction() as transaction:
            transaction.set_properties(missing)
    return table


def _made(
    workspace: Workspace, target: Target | IcebergSink, record: Record, more: Mapping[str, str]
) -> Callable[[], Table]:
    """Make a table where it is missing; return what loads it."""
    catalog = open_catalog(workspace.catalog(target.catalog))
    name = (*target.database.split("."), target.table)
    is_there = catalog.table_exists(name)
    if not is_on_this_machine(workspace.spark.master):
        # A catalog that is a server of its own decides where its tables are.
        known = (
            catalog.load_table(name).location() if is_there else catalog.properties.get(WAREHOUSE)
        )
        if known is not None:
            workspace.require_reached(f"the location of {target.identifier}", known)
    if not is_there:
        schema, own_properties = to_iceberg(record)
        catalog.create_namespace_if_not_exists(name[:-1])
        # Somebody else may be first with it.
        catalog.create_table_if_not_exists(
            name,
            schema,
            partition_spec=first_spec(target.partition_by or (), schema),
            properties={**_ALWAYS, **more, **own_properties},
        )
    return partial(catalog.load_table, name)


def properties(target: Target) -> dict[str, Any]:
    """Return the properties of a table that is made: replays depend on some of them."""
    return {
        "write.target-file-size-bytes": str(target.target_file_size),
        # Rows stay with the task that read them: no shuffle in a batch.
        "write.distribution-mode": "none",
        "write.metadata.delete-after-commit.enabled": "true",
        # A compaction has to get in between the commits of a writer in a hurry: four tries are few.
        "commit.retry.num-retries": "10",
        **target.properties,
        **TABLE_PROPERTIES,
    }


def ensure_result_table(workspace: Workspace, sink: IcebergSink, record: Record) -> None:
    """Make the table of an application's result where it is missing."""
    # A merge or a published backfill must not fail on rows that it does not touch.
    _made(workspace, sink, record, {"write.merge.isolation-level": "snapshot"})


def drop_table(workspace: Workspace, name: str) -> None:
    """Remove a table, its files included; one that is gone already is no mistake."""
    catalog_name, database, table = split_name(name)
    with contextlib.suppress(NoSuchTableError):
        open_catalog(workspace.catalog(catalog_name)).purge_table((*database, table))
