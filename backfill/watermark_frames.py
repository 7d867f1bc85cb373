"""Watermarks in Spark's hands: of sources that have finished, and those that a transform sets itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import structlog
from pyspark.sql import functions

from backfill.closing import END_MS
from backfill.live_differences import own_watermarks_in
from backfill.stages import stages_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan import Plan
    from backfill.stages import Stage
    from backfill.widening import PlannedWatermark
    from headrace.config.load import LoadedApp

log = structlog.get_logger(__name__)
POLICY: Final = "spark.sql.streaming.multipleWatermarkPolicy"


def stages_in(plan: Plan, spark: SparkSession) -> list[Stage]:
    """Return the stages of a plan. Where the greatest watermark counts, nobody holds anybody."""
    found = stages_of(plan)
    if str(spark.conf.get(POLICY, "min")).lower() == "min":
        return found
    whole = replace(found[0], until=plan.steps_with_records, finished=frozenset())
    return [whole, *(stage for stage in found if stage.is_end)]


def without_last_row(frame: DataFrame, watermark: PlannedWatermark) -> DataFrame:
    """Return a source that has finished without the row that its watermark has seen.

    What is observed has to be seen whole: so Spark brings no filter below it, be it this one or one
    of the application's, and the row comes as far as the watermark.
    """
    seen = frame.observe(f"finished_{watermark.source}", functions.count("*").alias("rows"))
    end = functions.timestamp_millis(functions.lit(END_MS))
    return seen.where(functions.col(f"`{watermark.column}`") < end)


def own_watermarks(result: DataFrame, sources: Iterable[DataFrame], app: LoadedApp) -> bool:
    """Whether a transform sets a watermark itself. That is as narrow as live, and said here."""
    own = own_watermarks_in(result, sources)
    for where in own:
        log.warning(
            "the transform sets a watermark of its own, which a replay does not widen: records that"
            " were in time may be dropped; name it in the application's file instead",
            app=app.config.name,
            where=where,
        )
    return bool(own)
