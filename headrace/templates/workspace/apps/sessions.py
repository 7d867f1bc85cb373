"""Sessions: the starts of a user with less than half an hour between them."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def build(sources: Mapping[str, DataFrame]) -> DataFrame:
    """Return one row per session. The runner has already set the watermark."""
    session = F.session_window("event_ts", "30 minutes")
    counted = sources["starts"].groupBy(session, "user_id").agg(
        F.count("*").alias("starts"), F.first("title_id").alias("first_title")
    )
    return counted.select(
        "user_id", F.col("session_window.start").alias("begun"), "starts", "first_title"
    )
