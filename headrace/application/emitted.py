"""What of a result is emitted: the columns that a sink goes by, and the rows of a period."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.config.app_sinks import IcebergSink
from headrace.config.problems import did_you_mean
from headrace.errors import Terminal
from headrace.iceberg.spark_names import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.config.app_sinks import AppSink


def require_columns(result: DataFrame, sink: AppSink) -> None:
    """Refuse a result without the columns that its sink names, before anything runs."""
    have = {field.name: field.dataType.simpleString() for field in result.schema.fields}
    wanted = {"time_column": [sink.time_column]}
    if isinstance(sink, IcebergSink):
        wanted |= {"key": list(sink.key), "version": [sink.version], "deleted": [sink.deleted]}
    else:
        wanted |= {"key": [getattr(sink, "key", None)]}
    for option, names in wanted.items():
        for name in names:
            if name is not None and name not in have:
                raise Terminal(
                    f"sink.{option} is {name}, and the result has no such column",
                    did_you_mean(name, sorted(have)),
                )
    typed = {"time_column": "timestamp", "deleted": "boolean"}
    for option, kind in typed.items():
        name = getattr(sink, option, None)
        if name is not None and have[name] != kind:
            raise Terminal(
                f"sink.{option} is {name}, a column of type {have[name]}",
                f"name one of type {kind}",
            )


def within(result: DataFrame, time_column: str, start_us: int, end_us_exclusive: int) -> DataFrame:
    """Keep the rows whose time lies in the period."""
    time_us = F.unix_micros(F.col(quoted(time_column)).cast("timestamp"))
    # Spark pushes a filter on a session's start below the session's own aggregation, where it
    # takes away the events from which a session is made. What is random it leaves where it is,
    # and a random number below 1 is 0 when it is cut off.
    time_us += F.floor(F.rand())
    return result.where((time_us >= start_us) & (time_us < end_us_exclusive))
