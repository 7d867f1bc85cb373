"""Holding a contest: all competitors in turns, each run measured, checked, and cleared away."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from benchmarks.measure import CommandFailed, measure
from benchmarks.model import Failure, Sample, WrongResult
from benchmarks.rounds import in_turns
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.arena import Arena
    from benchmarks.measure import Measured
    from benchmarks.model import Benchmark, Competitor, Outcome, Run


def hold(benchmark: Benchmark, arena: Arena, rounds: int, rows: int) -> Iterator[Outcome]:
    """Yield the outcome of every run as soon as it is there."""
    for round_number, position, competitor in in_turns(benchmark.competitors, rounds):
        try:
            yield _one(competitor, arena, round_number, position, rows)
        except (CommandFailed, WrongResult, HeadraceError) as problem:
            yield Failure(round_number, position, competitor.name, str(problem))


def _one(
    competitor: Competitor, arena: Arena, round_number: int, position: int, rows: int
) -> Sample:
    folder = arena.new_folder(competitor.name)
    try:
        run = competitor.prepare(arena, folder)
        try:
            measured = measure(run.command, arena.limit_s, watched=[arena.broker.pid])
            _verify(run, measured)
            return Sample(
                round=round_number,
                position=position,
                competitor=competitor.name,
                rows=rows,
                wall_s=measured.wall_s,
                work_s=run.work_s(measured),
                cpu_s=measured.cpu_s,
                unwaited_cpu_s=measured.unwaited_cpu_s,
                broker_cpu_s=measured.watched_cpu_s,
                elsewhere_cpu_s=measured.elsewhere_cpu_s,
            )
        finally:
            run.clean_up()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _verify(run: Run, measured: Measured) -> None:
    try:
        run.check(measured)
    except (KeyError, OSError, TypeError, ValueError) as problem:
        # Output that cannot be read is as wrong as output that is too little.
        raise WrongResult(f"the result cannot be read: {problem!r}") from problem
