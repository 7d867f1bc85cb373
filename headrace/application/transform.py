"""Running the author's own part: SQL, or a function in Python, over sources by their names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, Terminal

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedApp


class Sources(Mapping[str, "DataFrame"]):
    """What `build(sources)` is given: a streaming DataFrame for each source, and the session."""

    def __init__(self, spark: SparkSession, frames: Mapping[str, DataFrame]) -> None:
        self.spark = spark
        self._frames = dict(frames)

    def __getitem__(self, name: str) -> DataFrame:
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)


def with_watermarks(
    app: LoadedApp, frames: Mapping[str, DataFrame], widened_by: timedelta
) -> dict[str, DataFrame]:
    """Tell Spark how late records may come: as late as live, and by the replay's threshold more."""
    marked = dict(frames)
    for name, watermark in app.config.watermarks.items():
        if name in marked:
            delay_ms = round((watermark.delay + widened_by).total_seconds() * 1000)
            marked[name] = marked[name].withWatermark(watermark.column, f"{delay_ms} milliseconds")
    return marked


def result_of(app: LoadedApp, sources: Sources, root: Path) -> DataFrame:
    """Return what the application computes."""
    try:
        if app.config.transform.python is not None:
            return _built(app.config.transform.python, sources, (app.path.parent, root))
        for name, frame in sources.items():
            frame.createOrReplaceTempView(f"`{name}`")
        return sources.spark.sql(app.query or "")
    except HeadraceError:
        raise
    except Exception as problem:
        reason = str(problem).strip().splitlines()[0]
        raise Terminal(
            f"the transform of {app.config.name} failed: {type(problem).__name__}: {reason}",
            f"it is named in {app.path.name}",
        ) from problem


def _built(target: str, sources: Sources, places: tuple[Path, ...]) -> DataFrame:
    from pyspark.sql import DataFrame  # noqa: PLC0415 - importing it takes a second

    module_name, _, function = target.partition(":")
    sys.path[:0] = [str(place) for place in places if str(place) not in sys.path]
    result = getattr(importlib.import_module(module_name), function)(sources)
    if not isinstance(result, DataFrame):
        raise Terminal(f"{target} returned {type(result).__name__}, not a DataFrame")
    return result
