"""A result in an Iceberg table: each batch appended once, or merged by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.storagelevel import StorageLevel

from headrace.application.emitted import differing_types
from headrace.errors import Terminal, Transient
from headrace.iceberg.catalog import quoted, spark_name, table_loader
from headrace.iceberg.spark_files import write_uncommitted
from headrace.iceberg.tables import ensure_result_table
from headrace.landing.commit_state import Identity
from headrace.landing.commits import TableBatch, TableCommits
from headrace.queries.checkpoint import query_id
from headrace.retries import retry
from headrace.schema.spark import from_spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from headrace.config.app.sinks import IcebergSink
    from headrace.config.workspace.workspace import Workspace
    from headrace.queries.checkpoint import Place

OPTIONS: Final = {"fanout-enabled": "true", "use-table-distribution-and-ordering": "false"}
ATTEMPTS: Final = 5
FIRST_WAIT_S: Final = 0.5
# What Iceberg raises when the table has moved on under a commit.
CONFLICTS: Final = ("ValidationException", "CommitFailedException")
# The landing protocol counts offsets of partitions; the batches of a query are one such sequence.
BATCHES: Final = 0
# What the rows of a merge are called in its conditions.
GIVEN: Final = "headrace_given"
log = structlog.get_logger(__name__)


def ensure_fits(workspace: Workspace, sink: IcebergSink, result: DataFrame) -> None:
    """Make the table where it is missing; refuse one of other columns."""
    # Whether it is deleted says what becomes of a row, and is no part of it.
    result = result.select([quoted(name) for name in result.columns if name != sink.deleted])
    ensure_result_table(workspace, sink, from_spark(result.schema.jsonValue()))
    held = result.sparkSession.table(spark_name(sink.identifier))
    problems = differing_types(dict(held.dtypes), dict(result.dtypes), ("the table", "the result"))
    if problems:
        raise Terminal(
            f"table {sink.identifier} does not fit the result: {problems}",
            "name another table, or make the transform and the table agree",
        )


@dataclass(slots=True)
class AppendOnce:
    """Appends the batches of one query, each once, whenever the process is killed.

    The number of the batch is part of the commit state that the table gets in the same commit as the rows.
    """

    workspace: Workspace
    table: str
    name: str
    checkpoint: Place
    _commits: TableCommits | None = field(default=None)

    def __call__(self, batch: DataFrame, batch_id: int, computed: Callable[[], None]) -> None:
        """Append a batch, unless the table has it.

        Such a batch is computed all the same: Spark wants its state, and what moves its watermark.
        """
        if self._commits is None:
            query = query_id(self.checkpoint)
            writer = writer_of(self.name, query)
            self._commits = _commits(self.workspace, self.table, writer, query)
        if not append_once(batch, self.table, self._commits, batch_id, computed):
            batch.write.format("noop").mode("overwrite").save()


def writer_of(name: str, query: str) -> str:
    """Return who the table says has appended: a new checkpoint counts from the beginning."""
    return f"{name}.{query[:8]}"


def append_once(
    rows: DataFrame,
    table: str,
    commits: TableCommits,
    number: int,
    computed: Callable[[], None] = lambda: None,
) -> bool:
    """Append rows as the commit of that number; return False if the table has it.

    `computed` is called when the files are written, and before they are committed.
    """
    state = commits.resume()
    if state is not None and state.next_offsets.get(BATCHES, 0) > number:
        log.info("the table already has this batch", table=table, batch=number)
        return False
    files = write_uncommitted(rows, spark_name(table), OPTIONS)
    computed()
    if files:
        commits.commit(TableBatch(files, {BATCHES: number}, {BATCHES: number + 1}))
    return True


def append_whole(rows: DataFrame, workspace: Workspace, table: str, name: str) -> None:
    """Append rows in one commit, once under that name."""
    append_once(rows, table, _commits(workspace, table, name, name), 0)


def _commits(workspace: Workspace, table: str, writer: str, of: str) -> TableCommits:
    identity = Identity.of_this_process(writer, of)
    return TableCommits(table_loader(workspace, table), table, identity)


@dataclass(frozen=True, slots=True)
class Upsert:
    """Merges batches into a table by key: repeated, a batch changes nothing."""

    sink: IcebergSink

    def __call__(
        self, batch: DataFrame, batch_id: int, computed: Callable[[], None] = lambda: None
    ) -> None:
        """Merge a batch in one commit."""
        rows = batch.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            self._merge(self._one_of_each_key(rows, batch_id))
            computed()
        finally:
            rows.unpersist()

    def _one_of_each_key(self, rows: DataFrame, batch_id: int) -> DataFrame:
        keys = [quoted(name) for name in self.sink.key]
        if self.sink.version is not None:
            newest = F.max_by(F.struct("*"), quoted(self.sink.version)).alias("newest")
            # A row without a version is older than any other.
            return (
                rows.groupBy(*keys)
                .agg(newest, F.first(F.struct("*")).alias("any"))
                .select(F.coalesce("newest", "any").alias("row"))
                .select("row.*")
            )
        twice = rows.groupBy(*keys).count().where("count > 1").limit(1).collect()
        if twice:
            shown = ", ".join(f"{name}={twice[0][name]}" for name in self.sink.key)
            raise Terminal(
                f"batch {batch_id} has {twice[0]['count']} rows with the key {shown}",
                "say which row wins: name a column that grows as sink.version; or add columns to "
                "sink.key",
            )
        return rows

    def _merge(self, rows: DataFrame) -> None:
        spark, table, held = rows.sparkSession, spark_name(self.sink.identifier), self.sink.table
        # Not by a view in SQL: Spark cannot plan a MERGE from a view of a table's rows.
        given = rows.alias(GIVEN)
        names = [quoted(name) for name in self.sink.key]
        same = " AND ".join(f"{quoted(held)}.{name} <=> {GIVEN}.{name}" for name in names)
        newer = "true"
        if self.sink.version is not None:
            version = quoted(self.sink.version)
            held_version, given_version = f"{quoted(held)}.{version}", f"{GIVEN}.{version}"
            newer = f"({held_version} IS NULL OR {given_version} >= {held_version})"
        gone = "false"
        if self.sink.deleted is not None:
            gone = f"coalesce({GIVEN}.{quoted(self.sink.deleted)}, false)"

        def commit() -> None:
            # A session keeps for a while what it has seen of a table.
            spark.catalog.refreshTable(table)
            merge = given.mergeInto(table, F.expr(same))
            if self.sink.deleted is not None:
                merge = merge.whenMatched(F.expr(f"{gone} AND {newer}")).delete()
            merge = merge.whenMatched(F.expr(newer)).updateAll()
            merge.whenNotMatched(F.expr(f"NOT {gone}")).insertAll().merge()

        again_on_conflict(commit, self.sink.identifier)


def again_on_conflict(commit: Callable[[], object], table: str) -> None:
    """Do what commits to a table; do it again where another commit came in between."""
    try:
        retry(commit, _is_conflict, ATTEMPTS, FIRST_WAIT_S)
    except Exception as problem:
        if not _is_conflict(problem):
            raise
        raise Transient(
            f"other jobs changed {table} during each of {ATTEMPTS} attempts",
            "start it again: committed batches are not repeated",
        ) from problem


def _is_conflict(problem: Exception) -> bool:
    is_sparks = isinstance(problem, PySparkException) or "Py4JJavaError" in type(problem).__name__
    return is_sparks and any(word in str(problem) for word in CONFLICTS)
