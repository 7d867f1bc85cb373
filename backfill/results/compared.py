"""From the words of `backfill compare` to two tables side by side."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from backfill.period import parse_period
from backfill.results.compare import Wish, compare
from backfill.results.late import late_records
from headrace.config.load import load_app
from headrace.config.units import UnitError, parse_duration
from headrace.errors import UsageError
from headrace.iceberg.catalog import load_table
from headrace.iceberg.spark_names import spark_name

if TYPE_CHECKING:
    from pathlib import Path

    from backfill.period import Period
    from backfill.results.comparison import Comparison
    from headrace.config.workspace import Workspace

MICROSECOND = timedelta(microseconds=1)


def compared_tables(
    workspace: Workspace, left: str, right: str, wish: Wish, app_path: Path | None
) -> Comparison:
    """Compare two tables as they are now; with an application, by its late records as well."""
    if app_path is not None and wish.period is None:
        raise UsageError("-c names what is late in a period", "--time, --start-ts and --end-ts")
    app = None if app_path is None else load_app(app_path, workspace)
    if not wish.key:
        raise UsageError("--key names no column", "the columns that name a row, with commas")
    # Before a JVM starts: a name that is wrong is told in a second.
    for name in (left, right):
        load_table(workspace, name)
    from headrace.spark import session  # noqa: PLC0415 - Spark is loaded when needed

    with session(workspace, "backfill-compare") as spark:
        frames = [(name, spark.table(spark_name(name))) for name in (left, right)]
        if app is not None and wish.period is not None:
            names = [one for one in wish.key if one != wish.time_column]
            late = late_records(spark, app, wish.period, names)
            wish = replace(wish, late=late)
        return compare(frames[0], frames[1], wish)


def percent_of(text: str) -> float:
    """Read a percentage, `99.9` or `99.9%`."""
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise UsageError(f"--min-match {text} is no percentage", "0 to 100, for example 99.9")
    return percent


def period_of(
    time_column: str | None, start: str | None, end: str | None, boundary: str
) -> tuple[Period | None, int]:
    """Read the period to compare, and how near to its ends a mismatch is one of them."""
    if start is None and end is None:
        return None, 0
    if time_column is None:
        raise UsageError(
            "a period of which time?", "--time COLUMN: the column that says when a row belongs"
        )
    if start is None or end is None:
        raise UsageError("a period has two ends", "--start-ts TIME --end-ts TIME")
    try:
        near = parse_duration(boundary)
    except UnitError as problem:
        raise UsageError(f"--boundary {boundary}: {problem.reason}", problem.advice) from None
    return parse_period(start, end), near // MICROSECOND
