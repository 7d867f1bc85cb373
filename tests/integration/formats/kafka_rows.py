"""Rows as Spark's Kafka source gives them, without a broker."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "key binary, value binary, headers array<struct<key:string,value:binary>>,"
    " topic string, partition int, offset bigint, timestamp timestamp"
)
AT = dt.datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=dt.UTC)

Headers = list[tuple[str, bytes | None]] | None


def kafka_rows(
    spark: SparkSession, values: Sequence[bytes | None], headers: Headers = None
) -> DataFrame:
    rows = [(None, value, headers, "t", 0, offset, AT) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, COLUMNS)
