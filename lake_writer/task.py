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
from headrace.kafka.quarantine import BadRecords
from headrace.kafka.ranges import Readers
from headrace.landing.record_columns import RecordColumns
from lake_writer.time_order import TimeOrder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyiceberg.manifest import DataFile

    from headrace.iceberg.table_files import TableLocation
    from lake_writer.plan import LandingPlan

# Spark's Python workers live on between tasks, and so do connections.
_readers: Final = Readers()
_producers: Final = Producers()


@dataclass(frozen=True, slots=True)
class LandingWork:
    """Ranges of offsets to write as files of a table."""

    plan: LandingPlan
    location: TableLocation
    ranges: Mapping[int, range]

    @property
    def weight(self) -> int:
        """How many offsets it is about."""
        return sum(map(len, self.ranges.values()))

    @property
    def is_apart(self) -> bool:
        """Whether it shares nothing: the producer of rejected records is one for all."""
        return False

    def do(self) -> Written:
        """Do it; the files are complete and the bad records kept when this returns."""
        # A batch makes no cycles, and its messages by the thousand would be looked through for them.
        gc.disable()
        run = _Run(self)
        try:
            return run.run()
        except (HeadraceError, OSError) as problem:
            run.give_up()
            return Written(problem=_named(problem, self.plan.writer))
        except BaseException:
            run.give_up()
            raise
        finally:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Written:
    """What became of them: `problem` is why it did not end, and then there are no files."""

    files: Sequence[DataFile] = field(default=())
    records: int = 0
    bytes: int = 0
    quarantined: int = 0
    dropped: int = 0
    problem: HeadraceError | None = None


class _Run:
    """One task's work, from the first fetch to the last file."""

    def __init__(self, task: LandingWork) -> None:
        self._task = task
        self._files = TableFiles(task.location)
        self._order = TimeOrder()
        writer = task.plan.writer
        self._bad = BadRecords(f"lake writer {writer}", writer, task.plan.quarantine, _producers)

    def run(self) -> Written:
        plan = self._task.plan
        columns = RecordColumns(
            plan.values, plan.topic, plan.region, self._task.location.columns, plan.keep
        )
        records = size = 0
        with _readers.reader(plan.properties) as reader:
            for number, messages in reader.chunks(plan.topic, self._task.ranges):
                batch, newest_us, bad = columns(messages, number)
                records += len(messages)
                size += sum(map(len, messages))
                self._bad.reject(bad)
                if batch.num_rows:
                    for rows in self._order.add(number, newest_us, batch):
                        self._files.write(rows)
        for rows in self._order.rest():
            self._files.write(rows)
        # Bad records first, the files after: a crash repeats them, and loses none.
        self._bad.flush()
        files = self._files.close()
        return Written(files, records, size, self._bad.quarantined, self._bad.dropped)

    def give_up(self) -> None:
        """Leave nothing behind: all of it will be repeated."""
        self._files.discard()
        self._bad.discard()


def _named(problem: HeadraceError | OSError, writer: str) -> HeadraceError:
    if isinstance(problem, HeadraceError):
        return problem
    if problem.errno == errno.ENOSPC:
        return Terminal(f"{writer} stopped: the disk is full", "free some space, start it again")
    return Transient(
        f"{writer} stopped: a file of the table could not be written: {problem}",
        "start it again when the table's storage answers",
    )
