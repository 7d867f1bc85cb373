"""One Spark query for several jobs: what they have to do, who fails, and what Spark's progress says."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.streaming.listener import StreamingQueryListener

from headrace.embedded.process import wait_until
from headrace.errors import HeadraceError, Terminal, Transient
from headrace.jvm.pyspark_start import MANAGER, without_lookup
from headrace.line import turns
from headrace.line.job import Batch
from headrace.line.line import METRICS, Line
from headrace.line.run import run_lines
from headrace.signals import Drain
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


@dataclass(frozen=True)
class Counted:
    """The answer to a piece of work."""

    records: int = 0
    bytes: int = 0
    problem: HeadraceError | None = None


@dataclass(frozen=True)
class Count:
    """Work that counts a range; `dies` ends the worker under it."""

    offsets: range
    dies: bool = False

    @property
    def weight(self) -> int:
        return 1

    @property
    def is_apart(self) -> bool:
        return True

    def do(self) -> Counted:
        if self.dies:
            raise MemoryError("the worker is out of memory")
        return Counted(len(self.offsets), 10 * len(self.offsets))


@dataclass
class Counting:
    """A job with so many records to count, `most` in a batch, two tasks for each."""

    name: str
    records: int
    most: int = 10
    fails: list[HeadraceError] = field(default_factory=list)
    dies: int = 0
    at: int = 0
    counted: int = 0
    begun: int = 0
    interval: timedelta | None = None

    @property
    def is_done(self) -> bool:
        return self.at >= self.records

    def begin(self) -> None:
        self.begun += 1

    def next_batch(self) -> Batch | None:
        if self.is_done:
            return None
        to = min(self.records, self.at + self.most)
        middle = (self.at + to) // 2
        dies, self.dies = self.dies > 0, self.dies - 1
        works = [Count(range(self.at, middle), dies), Count(range(middle, to))]
        return Batch(works, {0: to}, self.records - to)

    def finish(self, answers: Sequence[Counted]) -> None:
        if self.fails:
            raise self.fails.pop()
        read = sum(one.records for one in answers)
        self.at += read
        self.counted += read


class Progress(StreamingQueryListener):
    """Keeps what Spark reports."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, int]] = []
        self.ended = threading.Event()

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...  # noqa: N802 - Spark's name

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - as above
        row = event.progress.observedMetrics.get(METRICS)
        if row is not None and row["events"] is not None:
            self.seen.append((row["events"], row["bytes"], row["lag"]))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: ARG002, N802 - as above
        self.ended.set()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "pause_s", lambda _failures, _first: 0.0)


def run(spark: SparkSession, folder: Path, *jobs: Counting) -> None:
    run_lines([Line("line", jobs, folder / "checkpoint", once=True)], spark, Drain())


def test_jobs_share_a_query_and_each_ends_when_it_is_done(
    spark: SparkSession, tmp_path: Path
) -> None:
    jobs = [Counting("short", 5), Counting("long", 35), Counting("none", 0)]
    run(spark, tmp_path, *jobs)
    assert [one.counted for one in jobs] == [5, 35, 0]
    assert [one.begun for one in jobs] == [1, 1, 1]


def test_one_that_fails_holds_up_no_other(spark: SparkSession, tmp_path: Path) -> None:
    broken = Counting("broken", 20, fails=[Terminal("its schema is broken")])
    resting = Counting("resting", 20, fails=[Transient("its cluster is away")] * 2)
    fine = Counting("fine", 30)
    with pytest.raises(Terminal, match="its schema is broken"):
        run(spark, tmp_path, broken, resting, fine)
    assert (broken.counted, resting.counted, fine.counted) == (0, 20, 30)
    assert (broken.begun, resting.begun, fine.begun) == (1, 3, 1)


def test_a_worker_that_dies_costs_a_batch_and_nothing_else(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = Counting("dying", 30, dies=2)
    run(spark, tmp_path, job)
    assert (job.counted, job.begun) == (30, 3)


def test_events_bytes_and_lag_stand_in_sparks_progress(spark: SparkSession, tmp_path: Path) -> None:
    progress = Progress()
    spark.streams.addListener(progress)
    try:
        run(spark, tmp_path, Counting("one", 25), Counting("other", 5))
        assert progress.ended.wait(LIMIT_S)
        assert wait_until(lambda: len(progress.seen) == 3, LIMIT_S)
    finally:
        spark.streams.removeListener(progress)
    assert progress.seen == [(15, 150, 15), (10, 100, 5), (5, 50, 0)]


class Stopping(Counting):
    """A job whose process is asked to end while it finishes its first batch."""

    def finish(self, answers: Sequence[Counted]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        super().finish(answers)


class Away(Counting):
    """A job whose process is asked to end while its catalog is away."""

    def begin(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        raise Transient("the catalog is away", "start it when it is back")


def test_asked_to_end_it_finishes_the_batch_at_hand(spark: SparkSession, tmp_path: Path) -> None:
    job = Stopping("endless", 10**9)
    with Drain() as drain:
        run_lines([Line("line", [job], tmp_path / "checkpoint", once=False)], spark, drain)
    assert job.counted % 10 == 0
    assert job.counted > 0
    assert not [one for one in spark.streams.active if one.name == "line"]


def test_one_that_rests_when_asked_to_end_has_failed(spark: SparkSession, tmp_path: Path) -> None:
    line = Line("line", [Away("away", 5)], tmp_path / "checkpoint", once=False)
    with Drain() as drain, pytest.raises(Transient, match="the catalog is away"):
        run_lines([line], spark, drain)


def test_one_that_was_asked_to_end_before_it_began_has_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = Counting("never", 5)
    with Drain() as drain:
        os.kill(os.getpid(), signal.SIGTERM)
        run_lines([Line("line", [job], tmp_path / "checkpoint", once=False)], spark, drain)
    assert job.counted == 0


def test_a_line_that_has_ended_is_let_go(spark: SparkSession, tmp_path: Path) -> None:
    job = Counting("brief", 5)
    run(spark, tmp_path, job)
    assert wait_until(
        lambda: not {one.name for one in threading.enumerate()} & {"line", "line answers"}, LIMIT_S
    )
    gone = weakref.ref(job)
    del job
    gc.collect()
    assert gone() is None


def test_spark_starts_no_process_to_look_for_sources_of_packages(spark: SparkSession) -> None:
    """Spark keeps what it found: nothing here."""
    without_lookup(spark)
    jvm = spark._jvm  # noqa: SLF001 - Spark has no other way to its JVM
    manager = jvm.java.lang.Class.forName(MANAGER).getField("MODULE$").get(None)  # type: ignore[union-attr]  # a session has one
    assert manager.dataSourceBuilders().isDefined()
    assert manager.dataSourceBuilders().get().isEmpty()


class Adding(Counting):
    """A job that finds a new one in its line after its first batch, and then is taken out of it."""

    line: Line | None = None
    left: bool | None = None
    new: Counting | None = None

    def finish(self, answers: Sequence[Counted]) -> None:
        super().finish(answers)
        if self.line is not None and self.new is None:
            self.new = Counting("new", 20)
            self.line.add(self.new)
            # Its batch is not through yet.
            self.left = self.line.remove(self.name)


def test_jobs_come_and_go_while_the_query_runs(spark: SparkSession, tmp_path: Path) -> None:
    old, other = Adding("old", 10**9), Counting("other", 50)
    line = Line("line", [old, other], tmp_path / "checkpoint", once=True)
    old.line = line
    run_lines([line], spark, Drain())
    assert old.counted == 10
    assert old.left is False
    assert line.remove("old")
    assert [one.job for one in line.turns] == [other, old.new]
    assert old.new is not None
    assert (old.new.counted, other.counted) == (20, 50)
