"""A file's jobs in a line that runs: opened, failing, tried again, gone."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from fleet import line_unit
from fleet.line_unit import LineUnit, Opened
from headrace.embedded.process import wait_until
from headrace.errors import HeadraceError, Terminal, Transient, UsageError
from headrace.line import turns
from headrace.line.background import Askers
from headrace.line.job import Batch
from headrace.line.line import Line
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import ExitStack
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Counted:
    records: int = 1
    bytes: int = 1
    problem: HeadraceError | None = None


@dataclass(frozen=True)
class Count:
    @property
    def weight(self) -> int:
        return 1

    @property
    def is_apart(self) -> bool:
        return True

    def do(self) -> Counted:
        return Counted()


@dataclass
class Endless:
    """A job that always has a record, and fails as it is told to."""

    name: str = "endless"
    interval: timedelta | None = None
    is_done: bool = False
    begun: int = 0
    counted: int = 0
    fails: list[HeadraceError] = field(default_factory=list)

    def begin(self) -> None:
        self.begun += 1

    def next_batch(self) -> Batch | None:
        if self.fails:
            raise self.fails.pop()
        return Batch([Count()], {0: self.counted}, 0)

    def finish(self, answers: Sequence[Counted]) -> None:
        self.counted += len(answers)


@dataclass
class Ground:
    spark: SparkSession
    line: Line
    folder: Path
    closed: list[str] = field(default_factory=list)
    askers: Askers = field(default_factory=lambda: Askers("asks", 2))

    def unit(self, jobs: Callable[[], Sequence[Endless]]) -> LineUnit:
        def open_jobs(held: ExitStack) -> Sequence[Opened]:
            opened = [
                Opened(f"s/{one.name}", one, self.folder, self.askers, (one.name,))
                for one in jobs()
            ]
            held.callback(lambda: self.closed.append("closed"))
            return opened

        return LineUnit(("stream", "s"), self.line, self.askers, self.askers, open_jobs)

    def until(self, unit: LineUnit, condition: Callable[[], bool]) -> None:
        def is_so() -> bool:
            unit.look(self.spark)
            self.line.look(self.spark)
            return condition()

        assert wait_until(is_so, LIMIT_S), unit.problems


@pytest.fixture
def ground(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ground]:
    for module in (turns, line_unit):
        monkeypatch.setattr(module, "pause_s", lambda _failures, _first: 0.0)
    with at_work(Line("up", [], tmp_path / "checkpoint", once=False)) as line:
        yield Ground(spark, line, tmp_path)


@contextmanager
def at_work(line: Line) -> Iterator[Line]:
    with line:
        yield line
        line.drain()


def test_jobs_run_and_leave_what_they_hold(ground: Ground) -> None:
    jobs = [Endless("one"), Endless("two")]
    unit = ground.unit(lambda: jobs)
    ground.until(unit, lambda: all(one.counted > 2 for one in jobs))
    unit.leave()
    ground.until(unit, lambda: unit.has_left)
    assert ground.closed == ["closed"]
    assert not ground.line.turns


def test_a_job_that_ends_for_good_is_tried_again_and_the_other_goes_on(ground: Ground) -> None:
    broken, fine = Endless("broken", fails=[Terminal("its schema is broken")] * 3), Endless("fine")
    unit = ground.unit(lambda: [broken, fine])
    ground.until(unit, lambda: broken.counted > 2 and fine.counted > 2)
    assert (broken.begun, fine.begun) == (4, 1)
    ground.until(unit, lambda: unit.problems == [])


def test_a_failure_is_named_with_its_output_until_it_is_over(ground: Ground) -> None:
    broken = Endless("broken", fails=[UsageError("it cannot be")])
    unit = ground.unit(lambda: [broken, Endless("fine")])
    ground.until(unit, lambda: bool(unit.problems))
    (problem,) = unit.problems
    assert problem.is_about("stream", "s", "broken")
    assert problem.problem == "it cannot be"
    # What waiting does not mend stays as it is.
    ground.until(unit, lambda: not [one for one in ground.line.turns if one.ended])
    assert (broken.begun, broken.counted) == (1, 0)


def test_what_cannot_be_opened_is_tried_again(ground: Ground) -> None:
    fails: list[HeadraceError] = [Transient("its cluster is away"), Terminal("no such topic")]
    job = Endless()

    def jobs() -> list[Endless]:
        if fails:
            raise fails.pop()
        return [job]

    unit = ground.unit(jobs)
    ground.until(unit, lambda: job.counted > 0)
    assert unit.problems == []


def test_who_leaves_does_not_wait_for_what_is_still_being_opened(ground: Ground) -> None:
    answers = threading.Event()

    def jobs() -> list[Endless]:
        assert answers.wait(LIMIT_S)
        return [Endless()]

    unit = ground.unit(jobs)
    unit.look(ground.spark)
    unit.leave()
    ground.until(unit, lambda: unit.has_left)
    answers.set()
    assert wait_until(lambda: ground.closed == ["closed"], LIMIT_S)
    assert not ground.line.turns
