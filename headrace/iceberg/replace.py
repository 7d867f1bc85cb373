"""Replacing the rows of a period in one commit, while others go on appending to the table.

The change is made on a branch of its own, by ordinary SQL, where it can take its time. What it
took away and what it brought is then committed to main at once, and Iceberg checks in that commit
that nobody has changed rows of the period since.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyiceberg.table.update import AssertRefSnapshotId, RemoveSnapshotRefUpdate

from headrace.errors import TableMissing, Terminal
from headrace.iceberg.catalog import quoted, spark_name, table_loader
from headrace.iceberg.spark_files import java_classes, loaded
from headrace.iceberg.table_changes import TableChange, changed
from headrace.times import format_time_us

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]  # it ships no types
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.workspace.workspace import Workspace

# In the summary of the snapshot: which run has replaced which rows.
REPLACED_BY: Final = "headrace.replaced-by"


@dataclass(frozen=True, slots=True)
class Replacement:
    """The rows of a table whose time lies in the period give way to others, under a name."""

    table: str
    time_column: str
    start_us: int
    end_us_exclusive: int
    name: str


def branch_of(name: str) -> str:
    """Return the branch on which a replacement of that name is made."""
    return f"headrace-{name}"


def replace_period(rows: DataFrame, wanted: Replacement) -> None:
    """Replace the rows of the period by these, in one commit to main."""
    spark, table = rows.sparkSession, spark_name(wanted.table)
    spark.catalog.refreshTable(table)
    forked_at = loaded(spark, table).currentSnapshot()
    if forked_at is None:
        rows.writeTo(table).append()
        return
    name = branch_of(wanted.name)
    branch = quoted(name)
    drop = f"ALTER TABLE {table} DROP BRANCH IF EXISTS {branch}"
    # A killed one may have left it.
    spark.sql(drop)
    fork_id, column = forked_at.snapshotId(), quoted(wanted.time_column)
    within = (
        f"{column} >= timestamp_micros({wanted.start_us})"
        f" AND {column} < timestamp_micros({wanted.end_us_exclusive})"
    )
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH {branch} AS OF VERSION {fork_id}")
    try:
        on_branch = f"{table}.{quoted(f'branch_{name}')}"
        spark.sql(f"DELETE FROM {on_branch} WHERE {within}")  # noqa: S608 - names of the config, quoted
        rows.writeTo(on_branch).append()
        _publish(spark, wanted, fork_id)
    finally:
        spark.sql(drop)
        spark.catalog.refreshTable(table)


def drop_branch(workspace: Workspace, table: str, name: str) -> None:
    """Remove what a replacement of that name has left in a table, if anything."""
    branch = branch_of(name)

    def missing(held: Table) -> TableChange | None:
        ref = held.metadata.refs.get(branch)
        if ref is None:
            return None
        unmoved = AssertRefSnapshotId(ref=branch, snapshot_id=ref.snapshot_id)
        return TableChange((unmoved,), [RemoveSnapshotRefUpdate(ref_name=branch)], ())

    with contextlib.suppress(TableMissing):
        changed(table_loader(workspace, table), table, missing)


def _publish(spark: SparkSession, wanted: Replacement, fork_id: int) -> None:
    """Commit to main what the branch has changed since it was forked."""
    table = loaded(spark, spark_name(wanted.table))
    added: dict[str, JavaObject] = {}
    removed: dict[str, JavaObject] = {}
    snapshot = table.snapshot(branch_of(wanted.name))
    while snapshot.snapshotId() != fork_id:
        if snapshot.addedDeleteFiles(table.io()).iterator().hasNext():
            raise Terminal(
                f"{wanted.table} deletes with delete files, and headrace cannot replace a period "
                "that way",
                "set its table property write.delete.mode=copy-on-write",
            )
        added |= _by_location(snapshot.addedDataFiles(table.io()))
        removed |= _by_location(snapshot.removedDataFiles(table.io()))
        snapshot = table.snapshot(snapshot.parentId())
    change = table.newOverwrite()
    for location in added.keys() - removed.keys():
        change.addFile(added[location])
    for location in removed.keys() - added.keys():
        change.deleteFile(removed[location])
    change.set(REPLACED_BY, wanted.name)
    change.validateFromSnapshot(fork_id)
    change.conflictDetectionFilter(_period_of(spark, wanted))
    change.validateNoConflictingData()
    change.validateNoConflictingDeletes()
    change.commit()


def _by_location(files: JavaObject) -> dict[str, JavaObject]:
    return {str(one.location()): one for one in files.iterator()}


def _period_of(spark: SparkSession, wanted: Replacement) -> JavaObject:
    expressions = java_classes(spark).expressions.Expressions
    start, end = (
        format_time_us(time_us).replace("Z", "+00:00")
        for time_us in (wanted.start_us, wanted.end_us_exclusive)
    )
    both = getattr(expressions, "and")
    return both(
        expressions.greaterThanOrEqual(wanted.time_column, start),
        expressions.lessThan(wanted.time_column, end),
    )
