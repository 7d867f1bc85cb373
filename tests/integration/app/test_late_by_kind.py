"""Every kind of operator that drops late records, each against a count in plain Python."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd  # type: ignore[import-untyped]  # it ships no types
import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from headrace.application.late_rows import DroppedLate, LateRows
from headrace.application.sinks import start
from headrace.config.app.sinks import JsonlSink
from headrace.queries.streaming import finish
from headrace.signals import Drain
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    from headrace.config.workspace.workspace import Workspace

START_US = 1_772_323_200_000_000
MINUTE_US = 60_000_000
DELAY = 10
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SCHEMA = "id int, kind string, at timestamp"
# The minutes of the records of each batch; many of a minute, so that a group is more than a record.
BATCHES = (
    (0, 1, 2, 3, 60),
    (61,),
    (1, 1, 1, 2, 39, 40, 41, 46, 47, 49, 50, 51, 52, 55, 58, 63),
    (0, 0, 0, 30, 30, 49, 50, 51, 52, 53, 90),
)


def late(is_late: Callable[[int, int], bool]) -> int:
    """Count the records that come when the watermark of the batch before has passed them."""
    count = 0
    for number in range(2, len(BATCHES)):
        watermark = max(map(max, BATCHES[: number - 1])) - DELAY
        count += sum(is_late(minute, watermark) for minute in BATCHES[number])
    return count


def by_window(length: int, slide: int) -> Callable[[int, int], bool]:
    """Return whether one of the windows that a minute belongs to is closed."""

    def is_late(minute: int, watermark: int) -> bool:
        starts = (one for one in range(-length, minute + 1) if one % slide == 0)
        return any(one + length <= watermark for one in starts if minute < one + length)

    return is_late


def by_itself(minute: int, watermark: int) -> bool:
    return minute <= watermark


class Counting(StatefulProcessor):
    """Answers with how many rows a key got in a batch, and keeps nothing."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: object,  # noqa: ARG002 - Spark gives it
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803 - as above
    ) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"n": [sum(map(len, rows))]})

    def close(self) -> None:
        pass


def stateful(events: DataFrame) -> DataFrame:
    return events.groupBy("kind").transformWithStateInPandas(
        Counting(), "n long", "append", "eventTime"
    )


def joined(events: DataFrame) -> DataFrame:
    other = events.select(F.col("id").alias("other"), F.col("at").alias("other_at"))
    return events.join(other, F.expr("id = other AND other_at = at"), "leftOuter")


KINDS: dict[str, tuple[Callable[[DataFrame], DataFrame], int]] = {
    "windows": (
        lambda e: e.groupBy(F.window("at", "5 minutes"), "kind").count(),
        late(by_window(5, 5)),
    ),
    "sliding": (
        lambda e: (
            e.where("id >= 0")
            .groupBy(F.window("at", "10 minutes", "5 minutes"))
            .agg(F.collect_list("id").alias("ids"))
        ),
        late(by_window(10, 5)),
    ),
    "uneven": (
        lambda e: (
            e.select(F.window("at", "10 minutes", "4 minutes").alias("w")).groupBy("w").count()
        ),
        late(by_window(10, 4)),
    ),
    "sessions": (
        lambda e: e.groupBy(F.session_window("at", "5 minutes"), "kind").count(),
        late(lambda minute, watermark: minute + 5 <= watermark),
    ),
    "times": (lambda e: e.groupBy("at", F.upper("kind")).count(), late(by_itself)),
    "distinct": (lambda e: e.dropDuplicates(["kind", "at"]), late(by_itself)),
    "within": (lambda e: e.dropDuplicatesWithinWatermark(["kind"]), late(by_itself)),
    "join": (joined, 2 * late(by_itself)),
    "state": (stateful, late(by_itself)),
    # What the first has let through, the second does not drop.
    "chained": (
        lambda e: e.dropDuplicates(["id", "at"]).groupBy(F.window("at", "5 minutes")).count(),
        late(by_itself),
    ),
}


@dataclass
class Query:
    """A query over a folder whose files are the batches."""

    spark: SparkSession
    workspace: Workspace
    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "in").mkdir()
        ids = iter(range(1000))
        for number, minutes in enumerate(BATCHES):
            file = self.folder / "in" / f"{number}.json"
            rows = [
                {
                    "id": next(ids),
                    "kind": "ab"[minute % 2],
                    "at": format_time_us(START_US + minute * MINUTE_US),
                }
                for minute in minutes
            ]
            file.write_text("\n".join(map(json.dumps, rows)))
            # In the order of these times they are read.
            os.utime(file, (number + 1, number + 1))

    def run(self, name: str, build: Callable[[DataFrame], DataFrame]) -> LateRows:
        files = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        events = files.json(str(self.folder / "in")).withWatermark("at", f"{DELAY} minutes")
        result = build(events).select(F.struct("*").alias("row"))
        tally = LateRows(self.folder / f"{name}.jsonl", lambda _, __: True)
        sink = JsonlSink(type="jsonl", path=str(self.folder / "out"))
        place = self.folder / name
        query = start(result, sink, self.workspace, name, place, tally)
        finish(query, name, Drain(), until_no_data=True)
        return tally


@pytest.fixture
def query(spark: SparkSession, workspace: Workspace, tmp_path: Path) -> Query:
    return Query(spark, workspace, tmp_path)


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    """Where transformWithState keeps what it does."""
    spark.conf.set(PROVIDER, ROCKSDB)
    yield
    spark.conf.unset(PROVIDER)


@pytest.mark.parametrize("kind", KINDS)
def test_each_record_that_is_dropped_is_counted(
    query: Query, kind: str, request: pytest.FixtureRequest
) -> None:
    build, wanted = KINDS[kind]
    if kind == "state":
        request.getfixturevalue("rocksdb")
    tally = query.run(kind, build)
    assert tally.total == DroppedLate(wanted)
    assert all(map(tally.counted, range(len(BATCHES))))
