"""A query that is followed to its end: each of its batches counted, whatever lies in between."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, cast

import pytest

from headrace.embedded.process import wait_until
from headrace.queries.streaming import Reports, finish
from headrace.signals import Drain
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

IDLE = "spark.sql.streaming.noDataProgressEventInterval"


class Asked(Drain):
    """A drain that is asked for by the test."""

    def ask(self) -> None:
        self._asked.set()


@pytest.fixture
def soon_idle(spark: SparkSession) -> Iterator[None]:
    """Let a query without data report that at once."""
    spark.conf.set(IDLE, "10ms")
    yield
    spark.conf.unset(IDLE)


@pytest.mark.usefixtures("soon_idle")
def test_a_batch_after_a_pause_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.mkdir()
    query = (
        spark.readStream.text(str(lines))
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )

    def reports(batch: int, rows: int) -> bool:
        return any((one.batchId, one.numInputRows) == (batch, rows) for one in query.recentProgress)

    drain, counted = Asked(), list[int]()
    thread = threading.Thread(target=lambda: counted.append(finish(query, "lines", drain)))
    thread.start()
    try:
        for batch, rows in enumerate((2, 1)):
            draft = tmp_path / f"{batch}"
            draft.write_text("line\n" * rows)
            draft.rename(lines / f"{batch}.txt")
            # What it did, and then that there is nothing for the next one.
            assert wait_until(partial(reports, batch, rows), LIMIT_S)
            assert wait_until(partial(reports, batch + 1, 0), LIMIT_S)
    finally:
        drain.ask()
        thread.join(LIMIT_S)
    assert counted == [3]


class Lingering:
    """A query that says it is not active any more while Spark still knows it."""

    isActive = False  # noqa: N815 - Spark's own name

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._jsq = query._jsq  # noqa: SLF001 - a stand-in for it

    def awaitTermination(self) -> None:  # noqa: N802 - as above
        self._query.stop()
        self._query.awaitTermination()

    def exception(self) -> Exception | None:
        return self._query.exception()


def test_after_the_end_another_may_have_its_name(spark: SparkSession, tmp_path: Path) -> None:
    def start(checkpoint: str) -> StreamingQuery:
        rows = spark.readStream.format("rate").load().writeStream.format("noop")
        return (
            rows.queryName("taken").option("checkpointLocation", str(tmp_path / checkpoint)).start()
        )

    finish(cast("StreamingQuery", Lingering(start("one"))), "taken", Drain())
    start("other").stop()


def test_each_report_is_read_once_however_many_spark_keeps(
    spark: SparkSession, tmp_path: Path
) -> None:
    kept = "spark.sql.streaming.numRecentProgressUpdates"
    spark.conf.set(kept, "5")
    query = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 1)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    reports = Reports(query)
    try:
        seen: list[int] = []
        while len(seen) < 20:
            seen += [one.batchId for one in reports.new()]
    finally:
        query.stop()
        spark.conf.unset(kept)
    assert len(set(seen)) == len(seen)
    assert seen == sorted(seen)
    last = [one.batchId for one in query.recentProgress]
    assert 0 < len(last) < len(seen)
    assert [one.batchId for one in Reports(query).new()] == last
