"""Comparing two tables by key, with Spark: one shuffle by key, whatever their order and size."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.storagelevel import StorageLevel

from backfill.results.comparison import Comparison, Example, Kind, Side
from backfill.results.late import explained_by
from headrace.config.problems import did_you_mean
from headrace.errors import Terminal, UsageError
from headrace.formats.encode import JSON_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from backfill.period import Period

# No table has a column of this name.
THERE = "__there__"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is compared by which key, and what the cause of a mismatch can be told from.

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


def compare(left: tuple[str, DataFrame], right: tuple[str, DataFrame], wish: Wish) -> Comparison:
    """Hold the right table against the left one; both are read once."""
    columns = _columns(left, right, wish)
    log.info("comparing", left=left[0], right=right[0], key=list(wish.key))
    sides = [
        _tagged(_within(frame, wish), columns, wish.key, number)
        for number, (_, frame) in enumerate((left, right))
    ]
    keys = _paired(sides[0].unionAll(sides[1])).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        counts = _counts(keys)
        if counts["n_left"] + counts["n_right"] == 0:
            raise Terminal(
                f"neither {left[0]} nor {right[0]} has a row to compare",
                "a period that holds nothing, or tables that were never written",
            )
        named = _named(keys, wish)
        return Comparison(
            left=Side(left[0], counts["n_left"], counts["repeated_left"]),
            right=Side(right[0], counts["n_right"], counts["repeated_right"]),
            matched=counts["matched"],
            mismatches=_mismatches(named),
            differing_columns=_differing(named, columns, wish.key),
            examples=tuple(_examples(named, wish.examples)),
        )
    finally:
        keys.unpersist()


def _columns(
    left: tuple[str, DataFrame], right: tuple[str, DataFrame], wish: Wish
) -> dict[str, str]:
    """Return the compared columns and their types; refuse what cannot be compared."""
    have = {
        name: {one.name: one.dataType.simpleString() for one in frame.schema.fields}
        for name, frame in (left, right)
    }
    asked = [*wish.key, *wish.ignored, *([wish.time_column] if wish.time_column else [])]
    for table, columns in have.items():
        for column in asked:
            if column not in columns and column not in wish.ignored:
                raise UsageError(
                    f"table {table} has no column {column}", did_you_mean(column, list(columns))
                )
    known = {name for columns in have.values() for name in columns}
    for column in wish.ignored:
        if column not in known:
            raise UsageError(
                f"--ignore {column}: neither table has it", did_you_mean(column, sorted(known))
            )
    of_left, of_right = have[left[0]], have[right[0]]
    compared = sorted(known - set(wish.ignored))
    problems = [
        f"{name} is {of_left.get(name, 'not there')} in {left[0]} and"
        f" {of_right.get(name, 'not there')} in {right[0]}"
        for name in compared
        if of_left.get(name) != of_right.get(name)
    ]
    if problems:
        raise Terminal(f"the tables do not compare: {'; '.join(problems)}", "--ignore a column")
    return {name: of_left[name] for name in compared}


def _within(frame: DataFrame, wish: Wish) -> DataFrame:
    if wish.time_column is None or wish.period is None:
        return frame
    time_us = F.unix_micros(F.col(f"`{wish.time_column}`").cast("timestamp"))
    start, end = wish.period.start_us, wish.period.end_us_exclusive
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


def _named(keys: DataFrame, wish: Wish) -> DataFrame:
    """Return the keys that do not match: rows in pairs, rows without a partner, and the cause."""
    mismatches = keys.where("n_left + n_right > matched * 2").withColumn("cause", _cause(wish))
    if wish.late is not None and wish.time_column is not None:
        mismatches = _with_late(mismatches, wish, wish.late, _time_us(wish.time_column, wish))
    single = [F.col(name) - F.col("matched") for name in ("n_left", "n_right")]
    rest = (
        F.when(F.col("n_right") == 0, Kind.MISSING.value)
        .when(F.col("n_left") == 0, Kind.EXTRA.value)
        .otherwise(Kind.REPEATED.value)
    )
    return (
        mismatches.withColumn("pairs", F.least(*single))
        .withColumn("rest", F.abs(single[0] - single[1]))
        .withColumn("rest_kind", F.coalesce("cause", rest))
        .withColumn("pair_kind", F.coalesce("cause", F.lit(Kind.DIFFERING.value)))
    )


def _with_late(mismatches: DataFrame, wish: Wish, late: DataFrame, time_us: Column) -> DataFrame:
    shared = [name for name in wish.key if name in late.columns and name != wish.time_column]
    known = explained_by(
        mismatches.where("cause IS NULL"), late, time_us, wish.boundary_us, shared
    ).select(F.col("key").alias("late_key"))
    joined = mismatches.join(known, F.col("key").eqNullSafe(F.col("late_key")), "left")
    is_late = F.when(F.col("late_key").isNotNull(), Kind.LATE.value)
    return joined.withColumn("cause", F.coalesce("cause", is_late)).drop("late_key")


def _time_us(column: str, wish: Wish) -> Column:
    """Return the time of a mismatch, from whichever side has a row."""
    time = (
        F.col(f"key.`{column}`")
        if column in wish.key
        else F.coalesce(*(F.col(f"{side}.`{column}`") for side in ("left", "right")))
    )
    return F.unix_micros(time.cast("timestamp"))


def _cause(wish: Wish) -> Column:
    """Return the cause of a mismatch where the time tells it, else null."""
    if wish.time_column is None or wish.period is None:
        return F.lit(None).cast("string")
    time_us = _time_us(wish.time_column, wish)
    near_start = time_us < wish.period.start_us + wish.boundary_us
    near_end = time_us >= wish.period.end_us_exclusive - wish.boundary_us
    return F.when(near_start | near_end, Kind.BOUNDARY.value)


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


def _mismatches(named: DataFrame) -> dict[Kind, int]:
    counts = [
        F.sum(
            F.when(F.col("pair_kind") == kind.value, F.col("pairs")).otherwise(0)
            + F.when(F.col("rest_kind") == kind.value, F.col("rest")).otherwise(0)
        ).alias(kind.value)
        for kind in Kind
    ]
    row = named.agg(*counts).collect()[0]
    return {kind: int(row[kind.value]) for kind in Kind if row[kind.value]}


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
        for one in Kind
        for row in shown.where(F.col("kind") == one.value).orderBy("key").limit(count).collect()
    ]


def _read(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    row: dict[str, Any] = json.loads(text)
    row.pop(THERE, None)
    return row
