"""Comparing two tables by key, with Spark: one shuffle by key, whatever their order and size."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import structlog
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.storagelevel import StorageLevel

from backfill.results.comparison import Comparison, Example, MismatchKind, Side
from backfill.results.late import explained_by, late_records
from headrace.application.emitted import JSON_OPTIONS, differing_types
from headrace.config.load import load_app
from headrace.errors import Terminal, UsageError
from headrace.iceberg.catalog import load_table, spark_name
from headrace.problems import did_you_mean
from headrace.spark import session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from backfill.plan.period import Period
    from headrace.config.workspace.workspace import Workspace

# No table has a column of this name.
THERE = "__there__"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What is compared by which key, and what a mismatch is explained by.

    With a period, rows whose `time_column` lies outside of it are left out, and a mismatch within
    `boundary_us` of its ends is one of the boundary.
    """

    key: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    time_column: str | None = None
    period: Period | None = None
    boundary_us: int = 0
    examples: int = 3
    # Records that came later than the live watermark allows, as `late_records` has them.
    late: DataFrame | None = None


def compare_tables(
    workspace: Workspace, left: str, right: str, options: CompareOptions, app_path: Path | None
) -> Comparison:
    """Compare two tables as they are now; with an application, by its late records as well."""
    if app_path is not None and options.period is None:
        raise UsageError("-c finds late records in a period", "--time, --start-ts and --end-ts")
    app = None if app_path is None else load_app(app_path, workspace)
    if not options.key:
        raise UsageError(
            "--key names no column", "give the columns that identify a row, separated by commas"
        )
    # Before a JVM starts: a wrong name is reported within a second.
    for name in (left, right):
        load_table(workspace, name)
    with session(workspace, "backfill-compare") as spark:
        frames = [(name, spark.table(spark_name(name))) for name in (left, right)]
        if app is not None and options.period is not None:
            names = [one for one in options.key if one != options.time_column]
            late = late_records(spark, app, options.period, names)
            options = replace(options, late=late)
        return compare(frames[0], frames[1], options)


def compare(
    left: tuple[str, DataFrame], right: tuple[str, DataFrame], options: CompareOptions
) -> Comparison:
    """Hold the right table against the left one; both are read once."""
    columns = _columns(left, right, options)
    log.info("comparing", left=left[0], right=right[0], key=list(options.key))
    sides = [
        _tagged(_within(frame, options), columns, options.key, number)
        for number, (_, frame) in enumerate((left, right))
    ]
    keys = _paired(sides[0].unionAll(sides[1])).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        counts = _counts(keys)
        if counts["n_left"] + counts["n_right"] == 0:
            raise Terminal(
                f"neither {left[0]} nor {right[0]} has rows to compare",
                "check the period and the table names",
            )
        named = _named(keys, options)
        return Comparison(
            left=Side(left[0], counts["n_left"], counts["repeated_left"]),
            right=Side(right[0], counts["n_right"], counts["repeated_right"]),
            matched=counts["matched"],
            mismatches=_mismatches(named),
            differing_columns=_differing(named, columns, options.key),
            examples=tuple(_examples(named, options.examples)),
        )
    finally:
        keys.unpersist()


def _columns(
    left: tuple[str, DataFrame], right: tuple[str, DataFrame], options: CompareOptions
) -> dict[str, str]:
    """Return the compared columns and their types; refuse what cannot be compared."""
    have = {name: dict(frame.dtypes) for name, frame in (left, right)}
    required = [*options.key, *([options.time_column] if options.time_column else [])]
    for table, columns in have.items():
        for column in required:
            if column not in columns and column not in options.ignored:
                raise UsageError(
                    f"table {table} has no column {column}", did_you_mean(column, list(columns))
                )
    known = {name for columns in have.values() for name in columns}
    for column in options.ignored:
        if column not in known:
            raise UsageError(
                f"--ignore {column}: neither table has it", did_you_mean(column, sorted(known))
            )
    of_left, of_right = (
        {name: columns[name] for name in sorted(columns) if name not in options.ignored}
        for columns in (have[left[0]], have[right[0]])
    )
    problems = differing_types(of_left, of_right, (left[0], right[0]))
    if problems:
        raise Terminal(f"the tables cannot be compared: {problems}", "--ignore a column")
    return of_left


def _within(frame: DataFrame, options: CompareOptions) -> DataFrame:
    if options.time_column is None or options.period is None:
        return frame
    time_us = F.unix_micros(F.col(f"`{options.time_column}`").cast("timestamp"))
    start, end = options.period.start_us, options.period.end_us_exclusive
    return frame.where((time_us >= start) & (time_us < end))


def _tagged(
    frame: DataFrame, columns: dict[str, str], key: tuple[str, ...], number: int
) -> DataFrame:
    values = [name for name in columns if name not in key]
    return frame.select(
        F.struct(*(f"`{name}`" for name in key)).alias("key"),
        # A struct needs a field, and a table may be all key.
        F.struct(F.lit(True).alias(THERE), *(f"`{name}`" for name in values)).alias("row"),
        F.lit(1 - number).alias("l"),
        F.lit(number).alias("r"),
    )


def _paired(tagged: DataFrame) -> DataFrame:
    """Count per key what matches, and keep of each side one row that does not."""
    rows = tagged.groupBy("key", "row").agg(F.sum("l").alias("l"), F.sum("r").alias("r"))
    return rows.groupBy("key").agg(
        F.sum(F.least("l", "r")).alias("matched"),
        F.sum("l").alias("n_left"),
        F.sum("r").alias("n_right"),
        F.first(F.when(F.col("l") > F.col("r"), F.col("row")), ignorenulls=True).alias("left"),
        F.first(F.when(F.col("r") > F.col("l"), F.col("row")), ignorenulls=True).alias("right"),
    )


def _named(keys: DataFrame, options: CompareOptions) -> DataFrame:
    """Return the keys that do not match: rows in pairs, rows without a partner, and the cause."""
    mismatches = keys.where("n_left + n_right > matched * 2").withColumn("cause", _cause(options))
    if options.late is not None and options.time_column is not None:
        time_us = _time_us(options.time_column, options.key)
        mismatches = _with_late(mismatches, options, options.late, time_us)
    single = [F.col(name) - F.col("matched") for name in ("n_left", "n_right")]
    rest = (
        F.when(F.col("n_right") == 0, MismatchKind.MISSING.value)
        .when(F.col("n_left") == 0, MismatchKind.EXTRA.value)
        .otherwise(MismatchKind.REPEATED.value)
    )
    return (
        mismatches.withColumn("pairs", F.least(*single))
        .withColumn("rest", F.abs(single[0] - single[1]))
        .withColumn("rest_kind", F.coalesce("cause", rest))
        .withColumn("pair_kind", F.coalesce("cause", F.lit(MismatchKind.DIFFERING.value)))
    )


def _with_late(
    mismatches: DataFrame, options: CompareOptions, late: DataFrame, time_us: Column
) -> DataFrame:
    shared = [name for name in options.key if name in late.columns and name != options.time_column]
    known = explained_by(
        mismatches.where("cause IS NULL"), late, time_us, options.boundary_us, shared
    ).select(F.col("key").alias("late_key"))
    joined = mismatches.join(known, F.col("key").eqNullSafe(F.col("late_key")), "left")
    is_late = F.when(F.col("late_key").isNotNull(), MismatchKind.LATE.value)
    return joined.withColumn("cause", F.coalesce("cause", is_late)).drop("late_key")


def _time_us(column: str, key: tuple[str, ...]) -> Column:
    """Return the time of a mismatch, from whichever side has a row."""
    places = ("key",) if column in key else ("left", "right")
    time = F.coalesce(*(F.col(f"{place}.`{column}`") for place in places))
    return F.unix_micros(time.cast("timestamp"))


def _cause(options: CompareOptions) -> Column:
    """Return the cause of a mismatch where the time tells it, else null."""
    if options.time_column is None or options.period is None:
        return F.lit(None).cast("string")
    time_us = _time_us(options.time_column, options.key)
    near_start = time_us < options.period.start_us + options.boundary_us
    near_end = time_us >= options.period.end_us_exclusive - options.boundary_us
    return F.when(near_start | near_end, MismatchKind.BOUNDARY.value)


def _counts(keys: DataFrame) -> dict[str, int]:
    summed = keys.agg(
        *(
            F.coalesce(F.sum(name), F.lit(0)).alias(name)
            for name in ("matched", "n_left", "n_right")
        ),
        F.count_if(F.col("n_left") > 1).alias("repeated_left"),
        F.count_if(F.col("n_right") > 1).alias("repeated_right"),
    )
    return {name: int(count) for name, count in summed.collect()[0].asDict().items()}


def _mismatches(named: DataFrame) -> dict[MismatchKind, int]:
    counts = [
        F.sum(
            F.when(F.col("pair_kind") == kind.value, F.col("pairs")).otherwise(0)
            + F.when(F.col("rest_kind") == kind.value, F.col("rest")).otherwise(0)
        ).alias(kind.value)
        for kind in MismatchKind
    ]
    row = named.agg(*counts).collect()[0]
    return {kind: int(row[kind.value]) for kind in MismatchKind if row[kind.value]}


def _differing(named: DataFrame, columns: dict[str, str], key: tuple[str, ...]) -> dict[str, int]:
    """Count in how many pairs each column differs."""
    values = [name for name in columns if name not in key]
    if not values:
        return {}
    counts = [F.count_if(~_same(name, columns[name])).alias(name) for name in values]
    row = named.where("pairs > 0").agg(*counts).collect()[0]
    return {name: int(row[name]) for name in values if row[name]}


def _same(name: str, kind: str) -> Column:
    sides = [F.col(f"{side}.`{name}`") for side in ("left", "right")]
    if "map<" in kind:
        # Spark has no equality of maps.
        sides = [F.to_json(F.struct(side)) for side in sides]
    return sides[0].eqNullSafe(sides[1])


def _examples(named: DataFrame, count: int) -> list[Example]:
    """Return of each kind the mismatches with the least keys."""
    kind = F.when(F.col("pairs") > 0, F.col("pair_kind")).otherwise(F.col("rest_kind"))
    shown = named.select(
        kind.alias("kind"),
        "key",
        *(F.to_json(name, JSON_OPTIONS).alias(f"{name}_json") for name in ("key", "left", "right")),
    )
    return [
        Example(
            one, _read(row["key_json"]) or {}, _read(row["left_json"]), _read(row["right_json"])
        )
        for one in MismatchKind
        for row in shown.where(F.col("kind") == one.value).orderBy("key").limit(count).collect()
    ]


def _read(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    row: dict[str, Any] = json.loads(text)
    row.pop(THERE, None)
    return row
