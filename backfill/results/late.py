"""Which records came later than the live watermark allows: they explain what a live run lacks."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final

import structlog
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.application.select import of_the_past
from headrace.contract import INGESTION_TS
from headrace.iceberg.catalog import quoted, spark_name
from headrace.times import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from backfill.plan.period import Period
    from headrace.config.load import LoadedApp

# A watermark moves between batches: what came within a minute is taken for one batch.
BATCH_US: Final = 60_000_000
# What a replay of the period may have read before its start and behind its end. What arrived later
# than that, it has not seen either, and it explains nothing.
AROUND_US: Final = 86_400_000_000
LATE_US: Final = "late_us"
log = structlog.get_logger(__name__)


def late_records(
    spark: SparkSession, app: LoadedApp, period: Period, key: Sequence[str]
) -> DataFrame | None:
    """Return the times of records that a live run may have dropped, and what they share of a key.

    A column of the key that their table does not have is null, any other a struct of its value. A
    table that has none of them cannot say which row a record belongs to, and is left out. None if
    all are left out.
    """
    found: DataFrame | None = None
    for name, source in of_the_past(app.config).items():
        watermark = app.config.watermarks.get(name)
        if watermark is None:
            continue
        table = spark.table(spark_name(source.identifier))
        if not set(key) & set(table.columns):
            log.warning(
                "the columns of the key are not in this table, so its late records explain no "
                "mismatch",
                table=source.identifier,
                key=",".join(key),
            )
            continue
        time_us = F.unix_micros(F.col(watermark.column))
        shared = [
            F.struct(F.col(quoted(one)).cast("string").alias("value")).alias(one)
            if one in table.columns
            else F.lit(None).cast("struct<value: string>").alias(one)
            for one in key
        ]
        arrived = F.col(INGESTION_TS)
        near = table.where(
            (arrived >= F.timestamp_micros(F.lit(period.start_us - AROUND_US)))
            & (arrived < F.timestamp_micros(F.lit(period.end_us_exclusive + AROUND_US)))
        )
        rows = near.select(
            time_us.alias(LATE_US),
            F.floor(F.unix_micros(F.col(INGESTION_TS)) / BATCH_US).alias("batch"),
            *shared,
        )
        late = _late(rows, watermark.delay // MICROSECOND, period)
        found = late if found is None else found.unionByName(late)
    return found


def _late(rows: DataFrame, delay_us: int, period: Period) -> DataFrame:
    newest = rows.groupBy("batch").agg(F.max(LATE_US)).orderBy("batch").collect()
    seen = list(accumulate((row[1] for row in newest), max))
    before = [(row["batch"], seen_us) for row, seen_us in zip(newest[1:], seen, strict=False)]
    watermarks = rows.sparkSession.createDataFrame(before, "batch bigint, seen_us bigint")
    inside = (F.col(LATE_US) >= period.start_us) & (F.col(LATE_US) < period.end_us_exclusive)
    return (
        rows.join(F.broadcast(watermarks), "batch")
        .where((F.col(LATE_US) < F.col("seen_us") - delay_us) & inside)
        .drop("batch", "seen_us")
    )


def explained_by(
    mismatches: DataFrame, late: DataFrame, time_us: Column, near_us: int, key: Sequence[str]
) -> DataFrame:
    """Return the keys of those mismatches near which such a record lies."""
    # By slots of time, so that rows meet by an equality.
    slot_us = max(1, near_us)
    slot = F.floor(F.col(LATE_US) / slot_us)
    spread = late.withColumn("slot", F.explode(F.array(slot - 1, slot, slot + 1)))
    own = mismatches.withColumn("own_us", time_us).withColumn(
        "own_slot", F.floor(time_us / slot_us)
    )
    condition = (spread["slot"] == own["own_slot"]) & (
        F.abs(spread[LATE_US] - own["own_us"]) <= near_us
    )
    for one in key:
        value = F.col(f"key.{quoted(one)}").cast("string")
        condition &= spread[one].isNull() | spread[one]["value"].eqNullSafe(value)
    return own.join(spread, condition, "left_semi").select("key")
