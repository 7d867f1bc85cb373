"""What of a result is emitted: the columns that a sink goes by, the rows of a period, the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.errors import Terminal
from headrace.iceberg.catalog import quoted
from headrace.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from headrace.config.app.sinks import AppSink

# ISO-8601 in UTC with microseconds, which is also what we read.
JSON_OPTIONS: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
}


def require_columns(result: DataFrame, sink: AppSink) -> None:
    """Refuse a result without the columns that its sink names, before anything runs."""
    have = dict(result.dtypes)
    # Not every sink has each of these options.
    named = {one: getattr(sink, one, None) for one in ("time_column", "key", "version", "deleted")}
    for option, names in named.items():
        for name in names if isinstance(names, tuple) else (names,):
            if name is not None and name not in have:
                raise Terminal(
                    f"sink.{option} is {name}, but the result has no such column",
                    did_you_mean(name, sorted(have)),
                )
    typed = {"time_column": "timestamp", "deleted": "boolean"}
    for option, kind in typed.items():
        name = named[option]
        if name is not None and have[name] != kind:
            raise Terminal(
                f"sink.{option} is {name}, but that column has type {have[name]}",
                f"name one of type {kind}",
            )


def differing_types(
    left: Mapping[str, str], right: Mapping[str, str], places: tuple[str, str]
) -> str:
    """Say which columns have another type, or are missing, in one of two places; "" where none."""
    return "; ".join(
        f"{name} is {left.get(name, 'missing')} in {places[0]}"
        f" and {right.get(name, 'missing')} in {places[1]}"
        for name in sorted({*left, *right})
        if left.get(name) != right.get(name)
    )


def within(result: DataFrame, time_column: str, start_us: int, end_us_exclusive: int) -> DataFrame:
    """Keep the rows whose time lies in the period."""
    time_us = F.unix_micros(F.col(quoted(time_column)).cast("timestamp"))
    # Spark pushes a filter on a session's start below the session's own aggregation, where it
    # takes away the events from which a session is made. What is random it leaves where it is,
    # and a random number below 1 is 0 when it is cut off.
    time_us += F.floor(F.rand())
    return result.where((time_us >= start_us) & (time_us < end_us_exclusive))


def encode_value(columns: Sequence[str], form: str) -> Column:
    """Return the value of a record with those columns."""
    if form == "json":
        return F.to_json(F.struct(*(f"`{name}`" for name in columns)), JSON_OPTIONS).cast("binary")
    if form == "raw" and len(columns) == 1:
        return F.col(f"`{columns[0]}`").cast("binary")
    raise Terminal(
        f"format {form} cannot hold the columns {', '.join(columns)}",
        "json can hold all columns; raw holds exactly one",
    )


def encode_key(column: str | None) -> Column:
    """Return the key: a column as text in UTF-8, or none."""
    if column is None:
        return F.lit(None).cast("binary")
    return F.col(f"`{column}`").cast("string").cast("binary")
