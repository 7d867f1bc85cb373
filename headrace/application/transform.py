"""Running the author's own part: SQL, or a function in Python, over sources by their names."""

from __future__ import annotations

from collections import UserDict
from datetime import timedelta
from typing import TYPE_CHECKING

from headrace.application.ahead_of_time import Ahead
from headrace.application.functions import load, register
from headrace.errors import HeadraceError, Terminal
from headrace.times import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedApp


class Sources(UserDict[str, "DataFrame"]):
    """What `build(sources)` is given: a streaming DataFrame for each source, and the session."""

    def __init__(self, spark: SparkSession, frames: Mapping[str, DataFrame]) -> None:
        super().__init__(frames)
        self.spark = spark


def bound_ahead(app: LoadedApp, name: str) -> Ahead | None:
    """Return how far the records of a source may be ahead of their arrival, None for any far."""
    watermark = app.config.watermarks.get(name)
    if watermark is None or watermark.max_ahead is None:
        return None
    return Ahead(watermark.column, watermark.max_ahead // MICROSECOND, watermark.on_ahead)


def with_watermarks(
    app: LoadedApp, frames: Mapping[str, DataFrame], widened_by: Mapping[str, timedelta]
) -> dict[str, DataFrame]:
    """Tell Spark how late records may come: as late as live, and later where a source is replayed."""
    marked = dict(frames)
    for name, watermark in app.config.watermarks.items():
        if name in marked:
            delay = watermark.delay + widened_by.get(name, timedelta(0))
            delay_ms = round(delay.total_seconds() * 1000)
            marked[name] = marked[name].withWatermark(watermark.column, f"{delay_ms} milliseconds")
    return marked


def result_of(app: LoadedApp, sources: Sources, root: Path) -> DataFrame:
    """Return what the application computes."""
    transform, folders = app.config.transform, (app.path.parent, root)
    try:
        if transform.python is not None:
            return _built(transform.python, sources, folders)
        for target in transform.udfs:
            register(sources.spark, target.partition(":")[2], load(target, folders))
        for name, frame in sources.items():
            frame.createOrReplaceTempView(f"`{name}`")
        return sources.spark.sql(app.query or "")
    except HeadraceError:
        raise
    except Exception as problem:
        # It loads py4j, which a plan without Spark does without.
        from headrace.jvm.failures import error_in  # noqa: PLC0415

        # What a transform reads while it is built is read by tasks, and may fail in a sentence.
        if (ours := error_in(str(problem))) is not None:
            raise ours from problem
        reason = str(problem).strip().splitlines()[0]
        raise Terminal(
            f"the transform of {app.config.name} failed: {type(problem).__name__}: {reason}",
            f"the file {app.path.name} names it",
        ) from problem


def _built(target: str, sources: Sources, folders: tuple[Path, ...]) -> DataFrame:
    from pyspark.sql import DataFrame  # noqa: PLC0415 - importing it takes a second

    result = load(target, folders)(sources)
    if not isinstance(result, DataFrame):
        raise Terminal(f"{target} returned {type(result).__name__}, not a DataFrame")
    return result
