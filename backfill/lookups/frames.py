"""The lookups of an application as DataFrames, beside its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from backfill.lookups.resolve import History, histories
from backfill.lookups.rows import names_of
from headrace.errors import UsageError
from headrace.expressions.used_columns import mentioned_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from backfill.lookups.planned import PlannedLookup
    from headrace.config.load import LoadedApp
    from headrace.config.lookups import Lookup
    from headrace.config.workspace import Workspace

# What Spark sends to all tasks of its own accord, were it told the size.
BROADCAST_BYTES: Final = 10 * 2**20
TASK_BYTES: Final = 64 * 2**20
SIZE: Final = "total-files-size"
NOWHERE: Final = "nowhere"


def lookups_of_a_replay(  # noqa: PLR0913, PLR0917 - lookups, and what each batch of whom joins with
    spark: SparkSession,
    app: LoadedApp,
    workspace: Workspace,
    checkpoint: Path,
    plan_file: Path,
    planned: Iterable[PlannedLookup],
) -> dict[str, DataFrame]:
    """Return each lookup as it was at the step that a batch is; the plan says which state."""
    by_name = {one.name: one for one in planned}
    if by_name.keys() != app.config.lookups.keys():
        raise UsageError(
            f"{app.config.name} has the lookups {_listed(app.config.lookups)}, and this run was"
            f" begun with {_listed(by_name)}",
            "put the file back as it was, or begin another run",
        )
    frames = {}
    for one in histories(workspace, app.config.lookups):
        lookup = by_name[one.name]
        way = {"checkpoint": str(checkpoint), "plan": str(plan_file)}
        if not one.is_replayed:
            way = {"snapshot": str(lookup.at_step(0) or "")}
        frames[one.name] = _frame(spark, app, workspace, one, lookup.columns, way)
    return frames


def lookups_live(
    spark: SparkSession, app: LoadedApp, workspace: Workspace, checkpoint: Path, state: Path
) -> dict[str, DataFrame]:
    """Return each lookup as it is at each batch, or as it was at the time that the file fixes."""
    frames = {}
    for one in histories(workspace, app.config.lookups):
        way = {"checkpoint": str(checkpoint), "taken": str(state / "lookups" / one.name)}
        if one.wanted.is_fixed:
            way = {"snapshot": str(one.fixed() or "")}
        columns = one.table.schema().model_dump_json()
        frames[one.name] = _frame(spark, app, workspace, one, columns, way)
    return frames


def lookups_to_look_at(
    spark: SparkSession, app: LoadedApp, workspace: Workspace
) -> dict[str, DataFrame]:
    """Return each lookup for a query that is looked at before its replay, and never started.

    One of a single state can be read all the same, as a transform may do while it is built.
    """
    frames = {}
    for one in histories(workspace, app.config.lookups):
        way = {"checkpoint": NOWHERE, "taken": NOWHERE}
        if not one.is_replayed:
            way = {"snapshot": str(one.fixed() or "")}
        columns = one.table.schema().model_dump_json()
        frames[one.name] = _frame(spark, app, workspace, one, columns, way)
    return frames


def _frame(  # noqa: PLR0913, PLR0917 - as above
    spark: SparkSession,
    app: LoadedApp,
    workspace: Workspace,
    lookup: History,
    all_columns: str,
    way: dict[str, str],
) -> DataFrame:
    from backfill.lookups.source import NAME, LookupSource  # noqa: PLC0415 - a plan needs no Spark

    table = lookup.wanted.identifier
    columns = _used(app, lookup.wanted, names_of(all_columns))
    size = _size_bytes(lookup)
    most = spark.sparkContext.defaultParallelism
    options = {
        "workspace": str(workspace.root),
        "table": table,
        "name": lookup.name,
        "all_columns": all_columns,
        "columns": ",".join(columns),
        "tasks": str(max(1, min(most, -(-(size or 0) // TASK_BYTES)))),
        **way,
    }
    spark.dataSource.register(LookupSource)
    frame = spark.read.format(NAME).options(**options).load()
    # Of a Python source Spark knows no size, and would sort both sides for every join.
    return frame.hint("broadcast") if size is not None and size <= BROADCAST_BYTES else frame


def _used(app: LoadedApp, wanted: Lookup, known: Sequence[str]) -> list[str]:
    """Return the columns to read, none for all: those declared, else those that SQL mentions."""
    if wanted.columns:
        return list(wanted.columns)
    mentioned = None if app.query is None else mentioned_columns(app.query)
    if mentioned is None:
        return []
    # A query that only counts the rows still needs one.
    return [name for name in known if name.lower() in mentioned] or list(known[:1])


def _size_bytes(lookup: History) -> int | None:
    head = lookup.table.current_snapshot()
    if head is None:
        return 0
    said = None if head.summary is None else head.summary.additional_properties.get(SIZE)
    return int(said) if said is not None and said.isdecimal() else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
