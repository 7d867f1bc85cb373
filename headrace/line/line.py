"""A line at work: Spark asks it for batches, runs their work as tasks, and hands it the answers."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
import weakref
from multiprocessing.connection import Client, Listener
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import structlog

from headrace.errors import Terminal
from headrace.jvm import failures
from headrace.line.packs import Piece, answers_in, packed
from headrace.line.questions import WORKS
from headrace.line.shares import shared
from headrace.line.socket_folder import private_folder
from headrace.line.standing import JobStanding
from headrace.line.turns import Turns
from headrace.queries.streaming import explained, is_active

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path
    from types import TracebackType

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.line.job import Batch, Job, Work

    # Does the work of a batch where that takes more than a task for each piece.
    RunWorks: TypeAlias = Callable[[SparkSession, Sequence[Any]], Sequence[Any]]

CHECK_EVERY_S: Final = 0.2
# How long Spark is kept waiting for a batch before it asks again.
PATIENCE_S: Final = 1.0
METRICS: Final = "line"
START_PAUSE_S: Final = 5.0
MOST_STARTS: Final = 5
SHORTEST_WAIT_S: Final = 0.001
# How long a batch waits for jobs that are asked at the moment.
GATHER_S: Final = 0.1
log = structlog.get_logger(__name__)


class Line:
    """One query over all its jobs."""

    def __init__(
        self,
        name: str,
        jobs: Sequence[Job],
        checkpoint: Path,
        run: RunWorks | None = None,
        *,
        once: bool,
    ) -> None:
        self.name = name
        self._checkpoint = checkpoint
        self._once = once
        self.turns = [Turns(job, once) for job in jobs]
        self._run = run
        self._folder = private_folder()
        self._listener = Listener(str(self._folder / "line"), family="AF_UNIX")
        self._query: StreamingQuery | None = None
        self._number = 0
        # The batch that Spark was told of last: it may still be without the one that is there.
        self._told = 0
        self._batch: dict[str, Batch] = {}
        # What is there for the next batch while others are asked, and since when.
        self._gathered: dict[str, Batch] = {}
        self._gathered_at_s = 0.0
        self._positions: dict[str, dict[int, int]] = {}
        self._tasks = 1
        # How often any of its jobs is due, where it has several.
        self._others_s: float | None = None
        self._starts_at_s, self._not_started = 0.0, 0
        self._draining = threading.Event()
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, name=self.name, daemon=True).start()
        # Jobs find out where they are while Spark gets their query ready.
        threading.Thread(target=self._take, name=f"{self.name} begins", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._draining.set()
        # Who insists on an end does not wait for a batch whose brokers may be away.
        if kind is None or issubclass(kind, Exception):
            with contextlib.suppress(Exception):
                # Its JVM may have ended.
                self._stop()
        self._closed.set()
        # Closing a socket does not wake who waits for a connection; a connection does.
        with contextlib.suppress(OSError):
            Client(self._listener.address, family="AF_UNIX").close()
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def ended(self) -> bool:
        """Whether none of its jobs has anything left to do."""
        return not self._batch and all(one.ended for one in self.turns)

    def standings(self) -> list[JobStanding[Any]]:
        """Return how its jobs fare; any thread may ask."""
        return [JobStanding(one.job, one.reason, one.has_begun) for one in self.turns]

    def add(self, job: Job) -> Turns:
        """Take in one more job; its turn comes at once."""
        turns = Turns(job, self._once)
        with self._lock:
            self.turns = [*self.turns, turns]
            self._others_s = shared(self.turns, self._others_s)
        return turns

    def remove(self, name: str) -> bool:
        """Give a job no further turn; return whether it has left, which it does after its batch."""
        with self._lock:
            for one in self.turns:
                one.ended = one.ended or one.job.name == name
            if name in self._batch:
                return False
            self._gathered.pop(name, None)
            self.turns = [one for one in self.turns if one.job.name != name]
            self._others_s = shared(self.turns, self._others_s)
            return True

    def look(self, spark: SparkSession) -> None:
        """Start its query, or see that it still runs; one that has ended is started again."""
        if self.ended or time.monotonic() < self._starts_at_s:
            return
        query = self._query
        if query is not None:
            if is_active(self.name, query):
                return
            self._query = None
            self._failed(query.exception() or Terminal(f"{self.name}: its query was stopped"))
            self._number, self._told, self._positions = 0, 0, {}
        if min((one.due_in_s for one in self.turns if not one.ended), default=1.0) <= 0:
            try:
                self._query = self._start(spark)
                self._not_started = 0
            except Exception as problem:
                # As where a Python process of Spark's did not come up within its ten seconds.
                self._not_started += 1
                if self._once or self._not_started >= MOST_STARTS or failures.has_ended(problem):
                    raise
                self._starts_at_s = time.monotonic() + START_PAUSE_S
                log.warning(
                    "Spark's query did not start", reason=str(explained(self.name, problem))
                )

    def begin_no_more(self) -> None:
        """Let the batch at hand be the last."""
        self._draining.set()

    def drain(self) -> None:
        """Let the batch at hand end, and go no further."""
        self._draining.set()
        with self._lock:
            # A batch that was being planned is there by now, and no other begins.
            pass
        while self._batch and self._query is not None and is_active(self.name, self._query):
            time.sleep(CHECK_EVERY_S / 4)
        self._stop()

    def _start(self, spark: SparkSession) -> StreamingQuery:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody names it; the JVM starts before it is imported

        from headrace.jvm.pyspark_start import without_lookup  # noqa: PLC0415 - as above
        from headrace.line.source import NAME, LineSource  # noqa: PLC0415 - as above

        # Jobs know where they are: what Spark has kept of an earlier query is of no use.
        shutil.rmtree(self._checkpoint, ignore_errors=True)
        without_lookup(spark)
        self._tasks = spark.sparkContext.defaultParallelism
        spark.dataSource.register(LineSource)
        answers = spark.readStream.format(NAME).option("socket", str(self._listener.address)).load()
        counted = answers.observe(
            METRICS, *(F.sum(name).alias(name) for name in ("events", "bytes", "lag"))
        )
        # Spark's JVM keeps the function, and would keep a line that has ended, with its clients.
        line = weakref.ref(self)

        def on_batch(frame: DataFrame, _number: int) -> None:
            if (living := line()) is not None:
                living._on_batch(frame)  # noqa: SLF001 - our own

        return (
            counted.writeStream.queryName(self.name)
            .option("checkpointLocation", self._checkpoint.absolute().as_uri())
            .foreachBatch(on_batch)
            .start()
        )

    def _stop(self) -> None:
        if self._query is not None:
            self._query.stop()
            # Inactive it is a moment before its name is free for another.
            with contextlib.suppress(Exception):
                self._query.awaitTermination()

    def _listen(self) -> None:
        while True:
            connection = self._listener.accept()
            if self._closed.is_set():
                connection.close()
                return
            name = f"{self.name} answers"
            threading.Thread(
                target=self._answer, args=(connection,), name=name, daemon=True
            ).start()

    def _answer(self, connection: Connection[Any, Any]) -> None:
        """Answer Spark's planning process for as long as it asks."""
        with contextlib.suppress(EOFError, OSError), connection:
            while True:
                question = connection.recv()
                connection.send(
                    self._works(question[1]) if question[0] == WORKS else self._latest()
                )

    def _latest(self) -> dict[str, Any]:
        """Return the newest batch, after waiting a moment for one."""
        until_s = time.monotonic() + PATIENCE_S
        while not self._draining.is_set() and not self._take() and time.monotonic() < until_s:
            due_at_s = min((one.due_at_s for one in self.turns if not one.ended), default=until_s)
            left_s = min(until_s, due_at_s) - time.monotonic()
            self._draining.wait(max(SHORTEST_WAIT_S, left_s))
        with self._lock:
            # Where nothing is new, the offset is the same: another would be a batch to Spark.
            if self._batch:
                self._positions = {
                    name: dict(sorted(one.ends.items())) for name, one in self._batch.items()
                }
            self._told = self._number
            return {"batch": self._number, "positions": self._positions}

    def _take(self) -> bool:
        """Whether there is a batch to do; one that is not finished yet stays the newest."""
        with self._lock:
            if not self._batch and not self._draining.is_set():
                now_s = time.monotonic()
                for one in self.turns:
                    if one.due_at_s > now_s or one.job.name in self._gathered:
                        continue
                    if (batch := one.take(self._others_s)) is not None:
                        self._gathered[one.job.name] = batch
                if self._gathered and not self._waits_for_others(now_s):
                    self._batch, self._gathered = self._gathered, {}
                    self._gathered_at_s = 0.0
                    self._number += 1
            return bool(self._batch)

    def _waits_for_others(self, now_s: float) -> bool:
        """Whether others will have something in a moment: a batch of many costs little more."""
        self._gathered_at_s = self._gathered_at_s or now_s
        is_time = now_s - self._gathered_at_s >= GATHER_S
        return not is_time and any(one.is_asked for one in self.turns if not one.ended)

    def _works(self, number: int) -> list[list[Piece]]:
        """Return the work of a batch for Spark's tasks; what remains is told once for each job."""
        with self._lock:
            if number != self._number or self._run is not None:
                return []
            pieces = [
                Piece.of(name, work, 0 if index else batch.lag)
                for name, batch in self._batch.items()
                for index, work in enumerate(batch.works)
            ]
            return packed(pieces, self._tasks)

    def _on_batch(self, frame: DataFrame) -> None:
        # A query without a checkpoint begins with a batch of nothing.
        if not self._batch or self._told != self._number:
            return
        try:
            answers = self._answers(frame)
        except Exception as problem:
            if failures.has_ended(problem):
                raise
            self._failed(problem)
        else:
            for one in self.turns:
                if one.job.name in self._batch:
                    one.finish(answers.get(one.job.name, []))
            self._batch = {}

    def _answers(self, frame: DataFrame) -> dict[str, list[Any]]:
        if self._run is not None:
            works: list[Work] = [work for batch in self._batch.values() for work in batch.works]
            (name,) = self._batch
            return {name: list(self._run(frame.sparkSession, works))}
        return answers_in(frame.collect())

    def _failed(self, problem: BaseException) -> None:
        """Let all jobs of the batch rest, or all jobs where there was none."""
        for one in self.turns:
            if not one.ended and (not self._batch or one.job.name in self._batch):
                one.fail(problem)
                self._gathered.pop(one.job.name, None)
        self._batch = {}
