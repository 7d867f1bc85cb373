"""What a Spark task does: fetch its ranges, decode every record, leave files that nobody knows yet.

An error that has a name goes back as a value, so that no stack trace stands around it.
"""

from __future__ import annotations

import errno
import gc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.errors import HeadraceError, Terminal, Transient
from headrace.iceberg.table_files import TableFiles
from headrace.kafka.bulk import Producers
from headrace.kafka.quarantine import READING, Quarantine
from headrace.kafka.ranges import Readers
from headrace.records.columns import Columns
from headrace.spark_tasks import run_tasks
from lake_writer.time_order import TimeOrder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyiceberg.manifest import DataFile
    from pyspark.sql import SparkSession

    from headrace.iceberg.table_files import TablePlace
    from headrace.records.columns import Bad
    from lake_writer.plan import LandingPlan

# Spark's Python workers live on between tasks, and so do connections.
_readers: Final = Readers()
_producers: Final = Producers()


@dataclass(frozen=True, slots=True)
class Work:
    """Ranges of offsets to write as files of a table."""

    plan: LandingPlan
    place: TablePlace
    ranges: Mapping[int, range]


@dataclass(frozen=True, slots=True)
class Written:
    """What became of them: `problem` is why it did not end, and then there are no files.

    Of the bad ones, `dropped` are kept nowhere.
    """

    files: Sequence[DataFile] = field(default=())
    records: int = 0
    bytes: int = 0
    bad: int = 0
    dropped: int = 0
    problem: HeadraceError | None = None


def write_files(spark: SparkSession, works: Sequence[Work]) -> list[Written]:
    """Let each piece of work be a Spark task."""
    return run_tasks(spark, work, works)


def work(task: Work) -> Written:
    """Do a task's work; its files are complete and its bad records kept when this returns."""
    # A batch makes no cycles, and its messages by the thousand would be looked through for them.
    gc.disable()
    run = _Run(task)
    try:
        return run.run()
    except (HeadraceError, OSError) as problem:
        run.give_up()
        return Written(problem=_named(problem, task.plan.writer))
    except BaseException:
        run.give_up()
        raise
    finally:
        gc.enable()


class _Run:
    """One task's work, from the first fetch to the last file."""

    def __init__(self, task: Work) -> None:
        self._task = task
        self._files = TableFiles(task.place)
        self._order = TimeOrder()
        self._records = self._bytes = self._bad = self._dropped = 0
        self._quarantine: Quarantine | None = None

    def run(self) -> Written:
        plan = self._task.plan
        columns = Columns(plan.values, plan.topic, plan.region, self._task.place.columns, plan.keep)
        reader = _readers.take(plan.properties)
        try:
            for number, messages in reader.chunks(plan.topic, self._task.ranges):
                batch, newest_us, bad = columns(messages, number)
                self._records += len(messages)
                self._bytes += sum(map(len, messages))
                self._turn_away(bad)
                if batch.num_rows:
                    for rows in self._order.add(number, newest_us, batch):
                        self._files.write(rows)
        finally:
            _readers.give_back(plan.properties, reader)
        for rows in self._order.rest():
            self._files.write(rows)
        # Bad records first, the files after: a crash repeats them, and loses none.
        if self._quarantine is not None:
            for one in self._quarantine.producer.flush():
                raise self._quarantine.refused(one.reason)
        files = self._files.close()
        return Written(files, self._records, self._bytes, self._bad, self._dropped)

    def give_up(self) -> None:
        """Leave nothing behind: all of it will be done again."""
        self._files.discard()
        if self._task.plan.quarantine is not None:
            _producers.discard(self._task.plan.quarantine[1])

    def _turn_away(self, bad: Sequence[Bad]) -> None:
        plan = self._task.plan
        for message, broken in bad:
            if broken.action == "fail":
                place = f"{plan.topic}-{message.partition()} @ {message.offset()}"
                raise Terminal(
                    f"lake writer {plan.writer} stops at a bad record: {place}: {broken.reason}",
                    "mend or skip it, or choose on_bad_record: quarantine",
                )
            self._bad += 1
            if broken.action == "drop" or plan.quarantine is None:
                self._dropped += 1
                continue
            if self._quarantine is None:
                topic, way = plan.quarantine
                self._quarantine = Quarantine(_producers.get(way), topic)
            self._quarantine.add(message, READING, broken.reason, plan.writer)


def _named(problem: HeadraceError | OSError, writer: str) -> HeadraceError:
    if isinstance(problem, HeadraceError):
        return problem
    if problem.errno == errno.ENOSPC:
        return Terminal(f"{writer} stopped: the disk is full", "free some space, start it again")
    return Transient(
        f"{writer} stopped: a file of the table could not be written: {problem}",
        "start it again when the table's storage answers",
    )
