"""Reading no more of a table than an application uses, and what that saves.

What it uses is seen in Spark's plan of it, whether it is SQL or Python. For that its transform is
built once over tables that nobody reads, before anything is planned.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from backfill.apps.live_differences import differences_in
from backfill.apps.used_columns import table_uses
from backfill.lookups.frames import LookupFrames
from backfill.read.file_columns import always_read, seen_by_applications
from backfill.read.row_filter import kind_of
from backfill.run.planning import sources_of
from headrace.application.select import of_the_past
from headrace.application.transform import Sources, result_of, with_watermarks
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyiceberg.schema import Schema
    from pyspark.sql import DataFrame, SparkSession

    from backfill.apps.live_differences import LiveDifference
    from backfill.apps.used_columns import TableUse
    from backfill.plan.conditions import Condition
    from backfill.plan.plan import Plan
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

FOOTERS_LOOKED_AT = 8


class PartialRead(NamedTuple):
    """A table that is not read as a whole; the share of its bytes is estimated on a few files."""

    table: str
    columns: tuple[str, ...]
    all_columns: int
    size_bytes: int
    whole_bytes: int


class QueryUse(NamedTuple):
    """What an application's query uses of each table, and where it may differ from a live run."""

    uses: dict[str, TableUse]
    differences: tuple[LiveDifference, ...]


def query_of(
    app: LoadedApp, workspace: Workspace, spark: SparkSession, time_column: str
) -> QueryUse:
    """Return what Spark's plan of an application shows, built over tables that nobody reads.

    Conditions are those that a second look gives again: a function in Python may put the time of
    now into its query, as `TIMESTAMP 'now'` does in SQL, and the plan cannot tell.
    """
    result, marked, schemas = _built(app, workspace, spark, time_column)
    first = _known(table_uses(result), schemas)
    differences = differences_in(result, marked.values())
    if not any(used.conditions for used in first.values()):
        return QueryUse(first, differences)
    again, _, schemas = _built(app, workspace, spark, time_column)
    second = _known(table_uses(again), schemas)
    uses = {
        table: used._replace(
            conditions=tuple(one for one in used.conditions if one in second[table].conditions)
        )
        for table, used in first.items()
    }
    return QueryUse(uses, differences)


def _built(
    app: LoadedApp, workspace: Workspace, spark: SparkSession, time_column: str
) -> tuple[DataFrame, dict[str, DataFrame], dict[str, Schema]]:
    """Return the result, the sources that it is made of, and the columns of each table."""
    # Spark is loaded when needed: a replay of tables needs none.
    from backfill.apps.spark_source import NAME, ReplaySource  # noqa: PLC0415
    from backfill.apps.spark_task import spark_schema  # noqa: PLC0415

    spark.dataSource.register(ReplaySource)
    declared = declared_of(app)
    frames: dict[str, DataFrame] = {}
    schemas: dict[str, Schema] = {}
    for name, source in of_the_past(app.config).items():
        table = load_table(workspace, source.identifier)
        names = declared.get(source.identifier, ())
        columns = seen_by_applications(source.identifier, table.schema(), names, time_column)
        schemas[source.identifier] = columns
        reader = spark.readStream.format(NAME).schema(spark_schema(columns, table.properties))
        frames[name] = reader.option("table", source.identifier).load()
    marked = with_watermarks(app, frames, {})
    given = marked | LookupFrames(spark, app, workspace).unread()
    return result_of(app, Sources(spark, given), workspace.root), marked, schemas


def _known(uses: Mapping[str, TableUse], schemas: Mapping[str, Schema]) -> dict[str, TableUse]:
    """Leave out the conditions on types that Iceberg and Spark do not compare alike."""
    return {
        table: used._replace(
            conditions=tuple(one for one in used.conditions if is_known(one, schemas[table]))
        )
        for table, used in uses.items()
    }


def is_known(condition: Condition, columns: Schema) -> bool:
    """Whether a condition is on a type that Iceberg and Spark compare alike."""
    if any("." in name for name in condition.column):
        return False
    held = columns.find_type(".".join(condition.column))
    return not condition.values or kind_of(held) == condition.kind


def declared_of(app: LoadedApp) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table all of whose sources declare which they are."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for source in of_the_past(app.config).values():
        found.setdefault(source.identifier, []).append(source.columns)
    return {table: tuple(sorted({*chain(*of)})) for table, of in found.items() if all(of)}


def conditions_of(uses: Mapping[str, TableUse]) -> dict[str, Sequence[Condition]]:
    """Return what rows of each table have to meet to be used at all."""
    return {table: used.conditions for table, used in uses.items()}


def columns_used(uses: Mapping[str, TableUse]) -> dict[str, tuple[str, ...]]:
    """Return the columns to read of each table that is not read as a whole.

    Where rows are only counted there are none: the times alone will do.
    """
    return {
        table: tuple(sorted(used.columns))
        for table, used in uses.items()
        if used.columns is not None
    }


def partial_reads(
    plan: Plan, workspace: Workspace, uses: Mapping[str, TableUse]
) -> Iterator[PartialRead]:
    """Yield what a replay reads of each table that it reads in part."""
    tables = sources_of(workspace, plan)
    for table, names in columns_used(uses).items():
        source = tables[table]
        read = {*names, *always_read(source.schema, source.time_column)}
        if len(read) == len(source.all_columns):
            continue
        units = [unit for step in plan.steps for unit in step.units if unit.source == table]
        sizes = [source.bytes_by_column(path) for path in _some(unit.path for unit in units)]
        whole = sum(sum(held.values()) for held in sizes)
        part = sum(size for held in sizes for name, size in held.items() if name in read)
        size_bytes = sum(unit.size_bytes for unit in units)
        share = part / whole if whole else 1.0
        shown = tuple(one for one in source.all_columns if one in read)
        yield PartialRead(
            table, shown, len(source.all_columns), round(size_bytes * share), size_bytes
        )


def _some(paths: Iterable[str]) -> list[str]:
    known = list(dict.fromkeys(paths))
    return known[:: max(1, -(-len(known) // FOOTERS_LOOKED_AT))]
